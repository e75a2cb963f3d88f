// One image of any size to the size the network sees.

#include <algorithm>
#include <cmath>

#include "adagp/data/augment.h"
#include "adagp/data/draw.h"
#include "adagp/data/resize.h"

namespace adagp::data {
namespace {

PixelView view_of(const at::Tensor& image) {
  return {image.const_data_ptr<uint8_t>(), image.size(0), image.size(1), image.size(1) * 3};
}

struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

// Torchvision's random resized crop: ten tries at an area and a ratio, then the largest centred
// window whose ratio is allowed.
Box draw_resized_crop(core::Rng& rng, int64_t image_height, int64_t image_width) {
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

// How many times smaller than whole_height x whole_width the image was decoded. Sides are rounded
// up, so that its last row and column may stand for less.
int64_t times_smaller(const PixelView& image, int64_t whole_height, int64_t whole_width) {
  for (const int64_t times : {2, 4, 8}) {
    if (image.height == (whole_height + times - 1) / times &&
        image.width == (whole_width + times - 1) / times &&
        (image.height != whole_height || image.width != whole_width)) {
      return times;
    }
  }
  return 1;
}

// Makes `plan` from `box` of the whole image.
void resize_part(const PixelView& image, const Box& box, int64_t times, const ResizePlan& plan,
                 uint8_t* out) {
  if (times == 1) {
    resize({image.rgb + box.top * image.stride + box.left * 3, box.height, box.width, image.stride},
           plan, out);
    return;
  }
  const auto reduced = [times](int64_t n) {
    return static_cast<double>(n) / static_cast<double>(times);
  };
  resize(image, {reduced(box.top), reduced(box.left), reduced(box.height), reduced(box.width)},
         plan, out);
}

// Short side to size / ratio, the middle of it kept.
ResizePlan centre_plan(int64_t height, int64_t width, const AugmentOptions& options) {
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
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

int reduction(int64_t height, int64_t width, const AugmentOptions& options, const Occasion& when) {
  // How many times larger than needed what is drawn is, along the tighter axis.
  double spare = 1;
  if (options.train && options.crop == "resized") {
    auto rng = example_rng(when.seed, when.epoch, when.index);
    const Box box = draw_resized_crop(rng, height, width);
    spare = std::min(static_cast<double>(box.height) / static_cast<double>(options.height),
                     static_cast<double>(box.width) / static_cast<double>(options.width));
  } else if (height != options.height || width != options.width) {
    const ResizePlan plan = centre_plan(height, width, options);
    spare = std::min(static_cast<double>(height) / static_cast<double>(plan.full_height),
                     static_cast<double>(width) / static_cast<double>(plan.full_width));
  }
  return spare >= 8 ? 8 : spare >= 4 ? 4 : spare >= 2 ? 2 : 1;
}

void augment_reduced(const PixelView& image, int64_t whole_height, int64_t whole_width,
                     const AugmentOptions& options, const Occasion& when, uint8_t* out) {
  const int64_t height = options.height, width = options.width;
  const int64_t times = times_smaller(image, whole_height, whole_width);
  auto rng = example_rng(when.seed, when.epoch, when.index);
  if (options.train && options.crop == "resized") {
    const Box box = draw_resized_crop(rng, whole_height, whole_width);
    const bool flip = options.flip && rng.below(2) == 1;
    resize_part(image, box, times, {height, width, 0, 0, height, width, flip}, out);
    return;
  }
  const Draw draw = draw_pad_crop(rng, options);
  const bool still = draw.down == 0 && draw.right == 0 && !draw.flip;
  if (whole_height == height && whole_width == width) {
    copy_window(image.rgb, draw, height, width, out);
    return;
  }
  const Box all{0, 0, whole_height, whole_width};
  const ResizePlan plan = centre_plan(whole_height, whole_width, options);
  if (still) {
    resize_part(image, all, times, plan, out);
  } else {
    std::vector<uint8_t> resized(static_cast<size_t>(height * width * 3));
    resize_part(image, all, times, plan, resized.data());
    copy_window(resized.data(), draw, height, width, out);
  }
}

at::Tensor augment_one(const at::Tensor& image, int64_t index, const AugmentOptions& options,
                       uint64_t seed, int64_t epoch) {
  check(options);
  const at::Tensor source = image.contiguous();
  at::Tensor result = at::empty({options.height, options.width, 3}, at::kByte);
  augment_reduced(view_of(source), source.size(0), source.size(1), options, {index, seed, epoch},
                  result.mutable_data_ptr<uint8_t>());
  return result;
}

}  // namespace adagp::data
