#include "adagp/data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "adagp/core/error.h"
#include "adagp/core/rng.h"
#include "adagp/core/text.h"

namespace adagp::data {
namespace {

using ScaleTable = std::array<std::array<float, 256>, 3>;

struct Draw {
  int64_t down = 0, right = 0;  // where the window lies in the unpadded image, -pad .. pad
  bool flip = false;
};

core::Rng example_rng(uint64_t seed, int64_t epoch, int64_t index) {
  return core::Rng(core::mix({seed, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index)}));
}

Draw draw_pad_crop(core::Rng& rng, const AugmentOptions& options) {
  Draw draw;
  if (!options.train) return draw;
  if (options.crop == "pad") {
    draw.down = rng.below(2 * options.pad + 1) - options.pad;
    draw.right = rng.below(2 * options.pad + 1) - options.pad;
  }
  draw.flip = options.flip && rng.below(2) == 1;
  return draw;
}

// Position i of a line of n pixels whose borders are mirrors; the border itself is not repeated.
int64_t mirrored(int64_t i, int64_t n) {
  if (i < 0) return -i;
  return i < n ? i : 2 * n - 2 - i;
}

// The source rows and columns of one example's window.
void fill_window(const Draw& draw, int64_t height, int64_t width, int64_t* rows, int64_t* columns) {
  for (int64_t y = 0; y < height; ++y) rows[y] = mirrored(y + draw.down, height);
  for (int64_t x = 0; x < width; ++x) {
    columns[x] = mirrored((draw.flip ? width - 1 - x : x) + draw.right, width);
  }
}

std::array<double, 3> per_channel(const std::vector<double>& values) {
  if (values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() == 3) return {values[0], values[1], values[2]};
  throw UsageError(
      core::cat("data.mean, data.std: ", values.size(), " numbers, expected one or three"));
}

// What each byte becomes, per channel.
ScaleTable scale_table(const AugmentOptions& options) {
  const auto mean = per_channel(options.mean), std = per_channel(options.std);
  ScaleTable table{};
  for (size_t c = 0; c < 3; ++c) {
    for (size_t v = 0; v < 256; ++v) {
      table[c][v] = static_cast<float>((static_cast<double>(v) / 255.0 - mean[c]) / std[c]);
    }
  }
  return table;
}

at::Tensor normalise_by_ops(const at::Tensor& images, const AugmentOptions& options) {
  const auto mean = per_channel(options.mean), std = per_channel(options.std);
  // Slopes, then offsets; page-locked, so that the copy does not wait for the GPU's work.
  at::Tensor terms =
      at::empty({2, 3}, at::TensorOptions(at::kFloat).pinned_memory(images.is_cuda()));
  auto* t = terms.mutable_data_ptr<float>();
  for (size_t c = 0; c < 3; ++c) {
    t[c] = static_cast<float>(1.0 / (255.0 * std[c]));
    t[3 + c] = static_cast<float>(-mean[c] / std[c]);
  }
  terms = terms.to(images.device(), /*non_blocking=*/true);
  return at::addcmul(terms[1], images.to(at::kFloat), terms[0]).permute({0, 3, 1, 2});
}

at::Tensor empty_batch(int64_t count, int64_t height, int64_t width) {
  return at::empty({count, 3, height, width}, at::TensorOptions(at::kFloat),
                   at::MemoryFormat::ChannelsLast);
}

void check_images(const at::Tensor& images, const AugmentOptions& options) {
  check(options);
  if (images.dim() != 4 || images.size(1) != options.height || images.size(2) != options.width ||
      images.size(3) != 3) {
    throw Error(core::cat("augment: images ", images.sizes(), ", expected [N, ", options.height,
                          ", ", options.width, ", 3]"));
  }
}

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

// The same part of an image that was reduced from whole_height x whole_width.
PixelView part_of(const PixelView& image, const Box& box, int64_t whole_height,
                  int64_t whole_width) {
  const auto along = [](int64_t begin, int64_t length, int64_t whole, int64_t size, int64_t& from,
                        int64_t& count) {
    const double scale = static_cast<double>(size) / static_cast<double>(whole);
    from = std::min<int64_t>(std::llround(static_cast<double>(begin) * scale), size - 1);
    const int64_t end = std::llround(static_cast<double>(begin + length) * scale);
    count = std::clamp<int64_t>(end - from, 1, size - from);
  };
  Box part;
  along(box.top, box.height, whole_height, image.height, part.top, part.height);
  along(box.left, box.width, whole_width, image.width, part.left, part.width);
  return {image.rgb + part.top * image.stride + part.left * 3, part.height, part.width,
          image.stride};
}

void mirror(uint8_t* rgb, int64_t height, int64_t width) {
  for (int64_t y = 0; y < height; ++y, rgb += width * 3) {
    for (uint8_t *a = rgb, *b = rgb + (width - 1) * 3; a < b; a += 3, b -= 3) {
      std::swap_ranges(a, a + 3, b);
    }
  }
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

void check(const AugmentOptions& options) {
  static const std::vector<std::string> kCrops{"pad", "resized", "none"};
  if (std::find(kCrops.begin(), kCrops.end(), options.crop) == kCrops.end()) {
    throw UsageError("unknown crop '" + options.crop + "'" +
                     core::suggestion(options.crop, kCrops));
  }
  if (options.crop == "pad" &&
      (options.pad < 0 || options.pad >= std::min(options.height, options.width))) {
    throw UsageError(core::cat("augment: pad ", options.pad, " of ", options.height, "x",
                               options.width,
                               " images, expected 0 or more and less than the image: "
                               "reflection needs that many pixels"));
  }
  if (!(options.resize_ratio > 0 && options.resize_ratio <= 1)) {
    throw UsageError(core::cat("augment: resize ratio ", options.resize_ratio,
                               ", expected more than 0 and at most 1"));
  }
}

at::Tensor augment_resident(const at::Tensor& images, const std::vector<int64_t>& indices,
                            const AugmentOptions& options, uint64_t seed, int64_t epoch) {
  if (!images.is_cpu()) return augment_by_index(images, indices, options, seed, epoch);
  // One pass of our own: ATen's operations would wake their thread pool under the training step.
  check_images(images, options);
  const int64_t height = options.height, width = options.width;
  const at::Tensor source = images.contiguous();
  const auto* pixels = source.const_data_ptr<uint8_t>();
  const auto table = scale_table(options);
  at::Tensor batch = empty_batch(static_cast<int64_t>(indices.size()), height, width);
  float* out = batch.mutable_data_ptr<float>();
  std::vector<int64_t> places(static_cast<size_t>(height + width));
  int64_t *rows = places.data(), *columns = rows + height;
  for (const int64_t index : indices) {
    auto rng = example_rng(seed, epoch, index);
    fill_window(draw_pad_crop(rng, options), height, width, rows, columns);
    const uint8_t* image = pixels + index * height * width * 3;
    for (int64_t y = 0; y < height; ++y) {
      const uint8_t* line = image + rows[y] * width * 3;
      for (int64_t x = 0; x < width; ++x) {
        const uint8_t* p = line + columns[x] * 3;
        for (size_t c = 0; c < 3; ++c) *out++ = table[c][p[c]];
      }
    }
  }
  return batch;
}

std::vector<cuda::Window> windows(const std::vector<int64_t>& indices,
                                  const AugmentOptions& options, uint64_t seed, int64_t epoch) {
  std::vector<cuda::Window> out;
  out.reserve(indices.size());
  for (const int64_t index : indices) {
    auto rng = example_rng(seed, epoch, index);
    const Draw draw = draw_pad_crop(rng, options);
    out.push_back({static_cast<int32_t>(index), static_cast<int16_t>(draw.down),
                   static_cast<int16_t>(draw.right), draw.flip ? 1 : 0});
  }
  return out;
}

void set_normalisation(const AugmentOptions& options, cuda::AugmentArgs& args) {
  const auto mean = per_channel(options.mean), std = per_channel(options.std);
  for (size_t c = 0; c < 3; ++c) {
    args.slope[c] = static_cast<float>(1.0 / (255.0 * std[c]));
    args.offset[c] = static_cast<float>(-mean[c] / std[c]);
  }
}

at::Tensor augment_by_index(const at::Tensor& images, const std::vector<int64_t>& indices,
                            const AugmentOptions& options, uint64_t seed, int64_t epoch) {
  check_images(images, options);
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t height = options.height, width = options.width;
  // [B, 1 + H + W]: the example, its source rows and columns, in one copy to the device.
  at::Tensor places = at::empty({count, 1 + height + width},
                                at::TensorOptions(at::kLong).pinned_memory(images.is_cuda()));
  auto* p = places.mutable_data_ptr<int64_t>();
  for (const int64_t index : indices) {
    auto rng = example_rng(seed, epoch, index);
    *p = index;
    fill_window(draw_pad_crop(rng, options), height, width, p + 1, p + 1 + height);
    p += 1 + height + width;
  }
  places = places.to(images.device(), /*non_blocking=*/true);
  const auto example = places.narrow(1, 0, 1).unsqueeze(2);               // [B, 1, 1]
  const auto rows = places.narrow(1, 1, height).unsqueeze(2);             // [B, H, 1]
  const auto columns = places.narrow(1, 1 + height, width).unsqueeze(1);  // [B, 1, W]
  return normalise_by_ops(at::index(images, {example, rows, columns}), options);
}

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
  auto rng = example_rng(when.seed, when.epoch, when.index);
  if (options.train && options.crop == "resized") {
    const Box box = draw_resized_crop(rng, whole_height, whole_width);
    resize(part_of(image, box, whole_height, whole_width), {height, width, 0, 0, height, width},
           out);
    if (options.flip && rng.below(2) == 1) mirror(out, height, width);
    return;
  }
  const Draw draw = draw_pad_crop(rng, options);
  const bool still = draw.down == 0 && draw.right == 0 && !draw.flip;
  if (image.height == height && image.width == width) {
    copy_window(image.rgb, draw, height, width, out);
  } else if (still) {
    resize(image, centre_plan(whole_height, whole_width, options), out);
  } else {
    std::vector<uint8_t> resized(static_cast<size_t>(height * width * 3));
    resize(image, centre_plan(whole_height, whole_width, options), resized.data());
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

at::Tensor normalise(const at::Tensor& images, const AugmentOptions& options) {
  if (!images.is_cpu()) return normalise_by_ops(images, options);
  const at::Tensor source = images.contiguous();
  const auto table = scale_table(options);
  at::Tensor batch = empty_batch(source.size(0), source.size(1), source.size(2));
  const auto* p = source.const_data_ptr<uint8_t>();
  float* out = batch.mutable_data_ptr<float>();
  for (int64_t i = source.numel() / 3; i > 0; --i) {
    for (size_t c = 0; c < 3; ++c) *out++ = table[c][*p++];
  }
  return batch;
}

}  // namespace adagp::data
