#include "adagp/engine/data/image/augment.h"

#include <algorithm>
#include <array>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "adagp/base/core/lookup.h"
#include "adagp/engine/data/image/example_rng.h"
#include "adagp/engine/data/image/simd_dispatch.h"

namespace adagp::data {
namespace {

using ScaleTable = std::array<std::array<float, 256>, 3>;

std::array<double, 3> per_channel(const std::vector<double>& values) {
  if (values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() == 3) return {values[0], values[1], values[2]};
  throw UsageError(
      core::cat("data.mean, data.std: ", values.size(), " numbers, expected one or three"));
}

// (x / 255 - mean) / std as one multiplication and one addition, per channel.
struct Terms {
  std::array<float, 3> slope{}, offset{};
};

Terms terms_of(const AugmentOptions& options) {
  const auto mean = per_channel(options.mean), std = per_channel(options.std);
  Terms terms;
  for (size_t c = 0; c < 3; ++c) {
    terms.slope[c] = static_cast<float>(1.0 / (255.0 * std[c]));
    terms.offset[c] = static_cast<float>(-mean[c] / std[c]);
  }
  return terms;
}

// What each byte becomes, per channel: for pixels that are gathered one by one.
ScaleTable scale_table(const AugmentOptions& options) {
  const Terms terms = terms_of(options);
  ScaleTable table{};
  for (size_t c = 0; c < 3; ++c) {
    for (size_t v = 0; v < 256; ++v) {
      table[c][v] = static_cast<float>(v) * terms.slope[c] + terms.offset[c];
    }
  }
  return table;
}

constexpr int64_t kScaled = 48;  // 16 pixels: whole registers of any width

// Whole runs of kScaled values; slope and offset repeat. The floats go around the caches, as a
// batch is larger than these: reading the lines that they replace would take half of the time.
ADAGP_WIDE void scale_runs(const uint8_t* __restrict in, int64_t runs,
                           const float* __restrict slope, const float* __restrict offset,
                           float* __restrict out) {
  for (; runs > 0; --runs, in += kScaled, out += kScaled) {
    alignas(32) float run[kScaled];
    for (int64_t j = 0; j < kScaled; ++j) {
      run[j] = static_cast<float>(in[j]) * slope[j] + offset[j];
    }
#ifdef __SSE2__
    if (reinterpret_cast<uintptr_t>(out) % 16 == 0) {
      for (int64_t j = 0; j < kScaled; j += 4) _mm_stream_ps(out + j, _mm_load_ps(run + j));
      continue;
    }
#endif
    std::copy(run, run + kScaled, out);
  }
#ifdef __SSE2__
  _mm_sfence();  // another thread takes the batch
#endif
}

at::Tensor normalise_by_ops(const at::Tensor& images, const AugmentOptions& options) {
  const Terms values = terms_of(options);
  // Slopes, then offsets; page-locked, so that the copy does not wait for the GPU's work.
  at::Tensor terms =
      at::empty({2, 3}, at::TensorOptions(at::kFloat).pinned_memory(images.is_cuda()));
  auto* t = terms.mutable_data_ptr<float>();
  std::copy(values.slope.begin(), values.slope.end(), t);
  std::copy(values.offset.begin(), values.offset.end(), t + 3);
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

}  // namespace

Crop parse_crop(const std::string& name) {
  constexpr std::pair<const char*, Crop> kCrops[] = {
      {"pad", Crop::kPad}, {"resized", Crop::kResized}, {"none", Crop::kNone}};
  return core::find_named(kCrops, name, "unknown crop").second;
}

void check(const AugmentOptions& options) {
  if (options.crop == Crop::kPad &&
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
  const Terms terms = terms_of(options);
  std::copy(terms.slope.begin(), terms.slope.end(), args.slope);
  std::copy(terms.offset.begin(), terms.offset.end(), args.offset);
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

void normalise_pixels(const uint8_t* in, int64_t pixels, const AugmentOptions& options,
                      float* out) {
  const Terms terms = terms_of(options);
  float slope[kScaled], offset[kScaled];
  for (size_t j = 0; j < kScaled; ++j) {
    slope[j] = terms.slope[j % 3];
    offset[j] = terms.offset[j % 3];
  }
  const int64_t runs = 3 * pixels / kScaled;
  scale_runs(in, runs, slope, offset, out);
  for (int64_t j = runs * kScaled; j < 3 * pixels; ++j) {
    out[j] = static_cast<float>(in[j]) * slope[j % kScaled] + offset[j % kScaled];
  }
}

at::Tensor normalise(const at::Tensor& images, const AugmentOptions& options) {
  if (!images.is_cpu()) return normalise_by_ops(images, options);
  const at::Tensor source = images.contiguous();
  at::Tensor batch = empty_batch(source.size(0), source.size(1), source.size(2));
  normalise_pixels(source.const_data_ptr<uint8_t>(), source.numel() / 3, options,
                   batch.mutable_data_ptr<float>());
  return batch;
}

}  // namespace adagp::data
