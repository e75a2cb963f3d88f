// One image of any size to the size the network sees.

#include <algorithm>
#include <cmath>

#include "adagp/engine/data/image/augment.h"
#include "adagp/engine/data/image/example_rng.h"
#include "adagp/engine/data/image/resize.h"

namespace adagp::data {
namespace {

// Torchvision's random resized crop: ten tries at an area and a ratio, then the largest centred
// window whose ratio is allowed.
io::Part draw_resized_crop(core::Rng& rng, int64_t image_height, int64_t image_width) {
  const auto h = static_cast<double>(image_height), w = static_cast<double>(image_width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = h * w * rng.uniform(0.08, 1.0);
    const double ratio = std::exp(rng.uniform(std::log(3.0 / 4.0), std::log(4.0 / 3.0)));
    const int64_t width = std::llround(std::sqrt(area * ratio));
    const int64_t height = std::llround(std::sqrt(area / ratio));
    if (width < 1 || height < 1 || width > image_width || height > image_height) continue;
    const int64_t top = rng.below(image_height - height + 1);
    return {top, rng.below(image_width - width + 1), height, width};
  }
  int64_t width = image_width, height = image_height;
  if (w / h < 3.0 / 4.0) height = std::llround(w / (3.0 / 4.0));
  if (w / h > 4.0 / 3.0) width = std::llround(h * (4.0 / 3.0));
  return {(image_height - height) / 2, (image_width - width) / 2, height, width};
}

// Short side to size / ratio, the middle of it kept.
ResizePlan centre_plan(const io::ImageSize& whole, const AugmentOptions& options) {
  const auto h = static_cast<double>(whole.height), w = static_cast<double>(whole.width);
  const double tall = std::round(static_cast<double>(options.height) / options.resize_ratio);
  const double wide = std::round(static_cast<double>(options.width) / options.resize_ratio);
  ResizePlan plan;
  plan.height = options.height;
  plan.width = options.width;
  const bool by_height = tall / h >= wide / w;
  plan.full_height = static_cast<int64_t>(by_height ? tall : wide * h / w);
  plan.full_width = static_cast<int64_t>(by_height ? tall * w / h : wide);
  plan.top = std::lrint(static_cast<double>(plan.full_height - plan.height) / 2.0);
  plan.left = std::lrint(static_cast<double>(plan.full_width - plan.width) / 2.0);
  return plan;
}

// What becomes of an image: `plan` is made from `part` of the whole, then `draw` happens to it.
struct Fate {
  io::Part part;
  ResizePlan plan;
  Draw draw;
  bool resized = true;  // false: the image has the network's size, and all of it is used
};

Fate fate_of(const io::ImageSize& whole, const AugmentOptions& options, const Occasion& when) {
  auto rng = example_rng(when.seed, when.epoch, when.index);
  Fate fate;
  if (options.train && options.crop == Crop::kResized) {
    fate.part = draw_resized_crop(rng, whole.height, whole.width);
    const bool flip = options.flip && rng.below(2) == 1;
    fate.plan = {options.height, options.width, 0, 0, options.height, options.width, flip};
    return fate;
  }
  fate.draw = draw_pad_crop(rng, options);
  fate.part = {0, 0, whole.height, whole.width};
  fate.resized = whole.height != options.height || whole.width != options.width;
  if (fate.resized) fate.plan = centre_plan(whole, options);
  return fate;
}

SourceBox reduced_box(const io::Part& part, int reduction) {
  const auto reduced = [&](int64_t n) { return static_cast<double>(n) / reduction; };
  return {reduced(part.top), reduced(part.left), reduced(part.height), reduced(part.width)};
}

void copy_window(const uint8_t* from, const Draw& draw, int64_t height, int64_t width,
                 uint8_t* to) {
  std::vector<int64_t> places(static_cast<size_t>(height + width));
  int64_t *rows = places.data(), *columns = rows + height;
  fill_window(draw, height, width, rows, columns);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const uint8_t* p = from + (rows[y] * width + columns[x]) * 3;
      for (int c = 0; c < 3; ++c) *to++ = p[c];
    }
  }
}

}  // namespace

io::Wanted wanted(const io::ImageSize& whole, const AugmentOptions& options, const Occasion& when) {
  const Fate fate = fate_of(whole, options, when);
  if (!fate.resized) return {};
  const io::Part& part = fate.part;
  const ResizePlan& plan = fate.plan;
  // How many times larger than needed the part is, along the tighter axis.
  const double spare =
      std::min(static_cast<double>(part.height) / static_cast<double>(plan.full_height),
               static_cast<double>(part.width) / static_cast<double>(plan.full_width));
  io::Decoded seen{whole, spare >= 8 ? 8 : spare >= 4 ? 4 : spare >= 2 ? 2 : 1, {}};
  const io::ImageSize size = seen.reduced();
  const SourceBox box = reduced_box(part, seen.reduction);
  const Span rows =
      needed(box.top, box.height, size.height, plan.full_height, plan.top, plan.height);
  const Span columns =
      needed(box.left, box.width, size.width, plan.full_width, plan.left, plan.width);
  return {seen.reduction,
          {rows.begin, columns.begin, rows.end - rows.begin, columns.end - columns.begin}};
}

void augment_partial(const uint8_t* rgb, const io::Decoded& decoded, const AugmentOptions& options,
                     const Occasion& when, uint8_t* out) {
  const int64_t height = options.height, width = options.width;
  const auto fate = fate_of(decoded.whole, options, when);
  if (!fate.resized) {
    copy_window(rgb, fate.draw, height, width, out);
    return;
  }
  const io::ImageSize size = decoded.reduced();
  const PixelView view{
      rgb, size.height, size.width, decoded.part.width * 3, decoded.part.top, decoded.part.left};
  const SourceBox box = reduced_box(fate.part, decoded.reduction);
  const bool still = fate.draw.down == 0 && fate.draw.right == 0 && !fate.draw.flip;
  std::vector<uint8_t> resized(still ? 0 : static_cast<size_t>(height * width * 3));
  resize(view, box, fate.plan, still ? out : resized.data());
  if (!still) copy_window(resized.data(), fate.draw, height, width, out);
}

at::Tensor augment_one(const at::Tensor& image, int64_t index, const AugmentOptions& options,
                       uint64_t seed, int64_t epoch) {
  check(options);
  const at::Tensor source = image.contiguous();
  const io::ImageSize whole{source.size(0), source.size(1)};
  at::Tensor result = at::empty({options.height, options.width, 3}, at::kByte);
  augment_partial(source.const_data_ptr<uint8_t>(), {whole, 1, {0, 0, whole.height, whole.width}},
                  options, {index, seed, epoch}, result.mutable_data_ptr<uint8_t>());
  return result;
}

}  // namespace adagp::data
