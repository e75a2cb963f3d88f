#include "adagp/engine/data/sets/detection.h"

#include <algorithm>
#include <utility>

#include "adagp/engine/data/image/augment.h"
#include "adagp/engine/data/stream/batch_stream.h"

namespace adagp::data {
namespace {

PixelView pixels_of(const at::Tensor& image) {
  return {image.const_data_ptr<uint8_t>(), image.size(0), image.size(1), image.size(1) * 3};
}

// Makes batches; everything it is told is fixed, so any thread may use it.
class DetectionMaker {
 public:
  DetectionMaker(std::shared_ptr<const DetectionSet> set, const DetectionOptions& options)
      : set_(std::move(set)), options_(options) {
    normalisation_.mean = options.mean;
    normalisation_.std = options.std;
  }

  Batch make(const std::vector<int64_t>& indices, int64_t epoch) const {
    const auto count = static_cast<int64_t>(indices.size());
    const int64_t size = options_.size;
    at::Tensor pixels = at::empty({count, size, size, 3}, host(at::kByte));
    at::Tensor boxes = no_boxes(count, options_.most);
    at::Tensor difficult = no_boxes(count, options_.most_difficult);
    auto* canvas = pixels.mutable_data_ptr<uint8_t>();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = indices[static_cast<size_t>(i)];
      const at::Tensor image = set_->image(index).contiguous();
      const Placement placement = place(image, index, epoch);
      draw(pixels_of(image), placement, canvas + i * size * size * 3);
      write_boxes(set_->objects(index), placement, false, boxes, i);
      write_boxes(set_->objects(index), placement, true, difficult, i);
    }
    Batch batch;
    // A GPU gets the bytes, a quarter of the floats, and normalises them itself.
    batch.inputs = {options_.device.is_cpu() ? normalise(pixels, normalisation_) : pixels};
    batch.targets = {boxes};
    if (!options_.training) batch.targets.push_back(difficult);
    return batch;
  }

  Batch deliver(Batch batch) const {
    if (options_.device.is_cpu()) return batch;
    at::Tensor& images = batch.inputs[0];
    images = normalise(images.to(options_.device, /*non_blocking=*/true), normalisation_)
                 .to(options_.dtype);
    for (at::Tensor& boxes : batch.targets) {
      boxes = boxes.to(options_.device, /*non_blocking=*/true);
    }
    return batch;
  }

 private:
  at::TensorOptions host(at::ScalarType type) const {
    return at::TensorOptions(type).pinned_memory(options_.device.is_cuda());
  }

  Placement place(const at::Tensor& image, int64_t index, int64_t epoch) const {
    if (!options_.training) return letterbox(image.size(0), image.size(1), options_.size);
    core::Rng rng(
        core::mix({options_.seed, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index)}));
    return jittered(image.size(0), image.size(1), options_.size, options_.jitter, rng);
  }

  at::Tensor no_boxes(int64_t count, int64_t most) const {
    at::Tensor boxes = at::zeros({count, most, 5}, host(at::kFloat));
    boxes.select(2, 0).fill_(-1);
    return boxes;
  }

  // The objects that are, or are not, difficult into the rows of example `i`.
  void write_boxes(const std::vector<core::LabelledBox>& objects, const Placement& placement,
                   bool difficult, at::Tensor& boxes, int64_t i) const {
    const auto size = static_cast<double>(options_.size);
    const int64_t most = boxes.size(1);
    float* row = boxes.mutable_data_ptr<float>() + i * most * 5;
    int64_t written = 0;
    for (const auto& object : objects) {
      if (written == most) return;
      if (object.difficult != difficult) continue;
      const auto box = on_canvas(object.box, placement);
      if (!box) continue;
      const double values[] = {static_cast<double>(object.label),
                               (box->left + box->right) / 2 / size,
                               (box->top + box->bottom) / 2 / size, (box->right - box->left) / size,
                               (box->bottom - box->top) / size};
      for (const double value : values) *row++ = static_cast<float>(value);
      ++written;
    }
  }

  std::shared_ptr<const DetectionSet> set_;
  DetectionOptions options_;
  AugmentOptions normalisation_;
};

}  // namespace

int64_t most_objects(const DetectionSet& set, bool difficult) {
  int64_t most = 0;
  for (int64_t i = 0; i < set.size(); ++i) {
    const auto& objects = set.objects(i);
    most = std::max<int64_t>(
        most, std::count_if(objects.begin(), objects.end(),
                            [&](const auto& o) { return o.difficult == difficult; }));
  }
  return most;
}

std::unique_ptr<BatchSource> detection_batches(std::shared_ptr<const DetectionSet> set,
                                               const DetectionOptions& options) {
  StreamOptions stream;
  stream.count = set->size();
  stream.batch = options.batch;
  stream.shuffle = stream.drop_last = options.training;
  stream.seed = options.seed;
  stream.workers = options.workers;
  stream.skips = options.skips;
  auto maker = std::make_shared<const DetectionMaker>(std::move(set), options);
  return std::make_unique<BatchStream>(
      std::move(stream),
      [maker](const std::vector<int64_t>& indices, int64_t epoch, int64_t) {
        return maker->make(indices, epoch);
      },
      [maker](Batch batch) { return maker->deliver(std::move(batch)); });
}

}  // namespace adagp::data
