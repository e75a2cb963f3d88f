#include "adagp/engine/data/sets/dataset.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::data {

Dataset::Partial Dataset::partial(int64_t index, const io::WantedFor&) const {
  const at::Tensor pixels = image(index).contiguous();
  const io::ImageSize whole{pixels.size(0), pixels.size(1)};
  return {pixels, {whole, 1, {0, 0, whole.height, whole.width}}};
}

ResidentDataset::ResidentDataset(at::Tensor images, std::vector<int64_t> labels)
    : images_(images.contiguous()), labels_(std::move(labels)) {
  if (images_.dim() != 4 || images_.size(3) != 3 || images_.scalar_type() != at::kByte ||
      images_.size(0) != static_cast<int64_t>(labels_.size())) {
    throw Error(core::cat("data: images ", images_.toString(), " ", images_.sizes(), " with ",
                          labels_.size(), " labels, expected u8 [N, H, W, 3] with N labels"));
  }
}

int64_t ResidentDataset::size() const {
  return images_.size(0);
}
const std::vector<int64_t>& ResidentDataset::labels() const {
  return labels_;
}
at::Tensor ResidentDataset::image(int64_t index) const {
  return images_.select(0, index);
}
at::Tensor ResidentDataset::resident() const {
  return images_;
}

}  // namespace adagp::data
