// The norm kernels' definition: plain loops on host memory, sums in double.

#include <cmath>
#include <set>
#include <vector>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/norm/copy_channels.h"
#include "adagp/gpu/cuda/norm/norm.h"

namespace adagp::cuda::reference {
namespace {

// An activation of either type.
struct View {
  void* data;
  Type type;

  float get(int64_t i) const { return load_as_float(data, type, i); }
  void set(int64_t i, float value) const { store_from_float(data, type, i, value); }
  float rounded(float value) const { return type == Type::kFloat ? value : rounded_to_bf16(value); }
};
View view(const void* data, Type type) {
  return {const_cast<void*>(data), type};
}

// Element i of a dense map, in one whose positions are `pitch` apart (0: dense, too).
int64_t at_pitch(int64_t i, const Map& map, int64_t pitch) {
  return pitch == 0 ? i : i / map.channels * pitch + i % map.channels;
}

float or_zero(const float* values, int64_t c) {
  return values == nullptr ? 0.0F : values[c];
}

// variance: biased, of n values.
void channel_norm(const NormPart& a, int64_t c, double mean, double variance, int64_t n) {
  const double inv_std = 1 / std::sqrt(variance + a.eps);
  const double scale = a.weight[c] * inv_std;
  a.mean[c] = static_cast<float>(mean);
  a.inv_std[c] = static_cast<float>(inv_std);
  a.scale[c] = static_cast<float>(scale);
  a.shift[c] = static_cast<float>(or_zero(a.bias, c) - mean * scale);
  if (a.running_mean == nullptr) return;
  const double whole = mean + or_zero(a.conv_bias, c), m = a.momentum;
  // One value: NaN, as torch's.
  const double unbiased = variance * static_cast<double>(n) / static_cast<double>(n - 1);
  a.running_mean[c] = static_cast<float>((1 - m) * a.running_mean[c] + m * whole);
  a.running_var[c] = static_cast<float>((1 - m) * a.running_var[c] + m * unbiased);
}

void channel_stats(const StatsArgs& a, int64_t c) {
  const View x = view(a.x, a.type);
  const int64_t n = a.map.positions();
  double sum = 0, squares = 0;
  const int64_t pitch = a.pitch == 0 ? a.map.channels : a.pitch;
  for (int64_t p = 0; p < n; ++p) sum += x.get(p * pitch + c);
  const double mean = sum / static_cast<double>(n);
  for (int64_t p = 0; p < n; ++p) {
    const double d = x.get(p * pitch + c) - mean;
    squares += d * d;
  }
  const double variance = squares / static_cast<double>(n);
  if (a.variance == nullptr) return channel_norm(a, c, mean, variance, n);
  a.mean[c] = static_cast<float>(mean);
  a.variance[c] = static_cast<float>(variance);
}

// The batch's mean image of one channel, [H, W].
std::vector<double> mean_image(const StatsArgs& a, int64_t c) {
  const View x = view(a.x, a.type);
  const int64_t pixels = a.map.height * a.map.width;
  const int64_t pitch = a.pitch == 0 ? a.map.channels : a.pitch;
  std::vector<double> out(static_cast<size_t>(pixels), 0.0);
  for (int64_t p = 0; p < a.map.positions(); ++p) {
    out[static_cast<size_t>(p % pixels)] += x.get(p * pitch + c);
  }
  for (double& value : out) {
    value = value / static_cast<double>(a.map.batch) + or_zero(a.conv_bias, c);
  }
  return out;
}

// The pixels of a side that window i of `size` sees, of n.
int64_t begin_of(int64_t i, int64_t n, int64_t size) {
  return i * n / size;
}
int64_t end_of(int64_t i, int64_t n, int64_t size) {
  return ((i + 1) * n + size - 1) / size;
}

// Where a side of n pixels is cut: wherever a window begins or ends.
std::vector<int64_t> cuts(int64_t n, int64_t size) {
  std::set<int64_t> edges;
  for (int64_t i = 0; i < size; ++i) {
    edges.insert(begin_of(i, n, size));
    edges.insert(end_of(i, n, size));
  }
  return {edges.begin(), edges.end()};
}

void channel_cells(const StatsArgs& a, int64_t c) {
  const std::vector<double> image = mean_image(a, c);
  const auto rows = cuts(a.map.height, a.size), cols = cuts(a.map.width, a.size);
  int64_t cell = 0;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    for (size_t j = 0; j + 1 < cols.size(); ++j, ++cell) {
      double sum = 0;
      for (int64_t y = rows[i]; y < rows[i + 1]; ++y) {
        for (int64_t x = cols[j]; x < cols[j + 1]; ++x) {
          sum += image[static_cast<size_t>(y * a.map.width + x)];
        }
      }
      a.cells[cell * a.map.channels + c] =
          static_cast<float>(sum * static_cast<double>(a.map.batch));
    }
  }
}

void pool_one(const PoolArgs& a, int64_t size, int64_t c, int64_t out) {
  const auto rows = cuts(a.map.height, size), cols = cuts(a.map.width, size);
  const auto inside = [size](int64_t from, int64_t window, int64_t n) {
    return from >= begin_of(window, n, size) && from < end_of(window, n, size);
  };
  double sum = 0, pixels = 0;
  int64_t cell = 0;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    for (size_t j = 0; j + 1 < cols.size(); ++j, ++cell) {
      if (!inside(rows[i], out / size, a.map.height) || !inside(cols[j], out % size, a.map.width)) {
        continue;
      }
      sum += a.cells[cell * a.map.channels + c];
      pixels += static_cast<double>((rows[i + 1] - rows[i]) * (cols[j + 1] - cols[j]));
    }
  }
  a.summary[c * size * size + out] =
      static_cast<float>(sum / (pixels * static_cast<double>(a.map.batch)));
}

void channel_summary(const StatsArgs& a, int64_t c) {
  const std::vector<double> image = mean_image(a, c);
  const int64_t size = a.size, height = a.map.height, width = a.map.width;
  const auto begin = [size](int64_t i, int64_t n) { return begin_of(i, n, size); };
  const auto end = [size](int64_t i, int64_t n) { return end_of(i, n, size); };
  for (int64_t i = 0; i < size * size; ++i) {
    const int64_t top = begin(i / size, height), bottom = end(i / size, height);
    const int64_t left = begin(i % size, width), right = end(i % size, width);
    double sum = 0;
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) sum += image[static_cast<size_t>(y * width + x)];
    }
    const double mean = sum / static_cast<double>((bottom - top) * (right - left));
    float& to = a.summary[c * size * size + i];
    to = static_cast<float>(a.use > 1 ? to + (mean - to) / a.use : mean);
  }
}

// scale * x + shift before anything else: with the kernel's one rounding, for masks must agree.
float normalised(const View& x, int64_t i, const float* scale, const float* shift, int64_t c) {
  return std::fma(scale[c], x.get(i), shift[c]);
}

// Elements of the 2x2 windows: [pooled position, channel] -> four indexes into the map.
struct Quads {
  Map map;
  int64_t index(int64_t pooled, int64_t c, int i) const {
    const int64_t half = map.width / 2, line = pooled / half, x = 2 * (pooled % half) + i % 2;
    return ((2 * line + i / 2) * map.width + x) * map.channels + c;
  }
};

float clipped(float value, const ApplyArgs& a) {
  if (!a.relu) return value;
  return value < 0 ? 0.0F : value > a.cap ? a.cap : value;
}

// No cap is NaN: no value is at least that.
bool let_through(float out, const NormBackwardArgs& a) {
  return !a.relu || (out > 0 && !(out >= a.cap));
}

void apply_pooled(const ApplyArgs& a) {
  const View x = view(a.x, a.type), y = view(a.y, a.type);
  const int64_t channels = a.map.channels;
  for (int64_t at = 0; at < a.map.count() / 4; ++at) {
    float most = 0;
    for (int i = 0; i < 4; ++i) {
      const int64_t from = Quads{a.map}.index(at / channels, at % channels, i);
      const float value =
          x.rounded(clipped(normalised(x, from, a.scale, a.shift, at % channels), a));
      if (i == 0 || value > most || std::isnan(value)) most = value;
    }
    y.set(at, most);
  }
}

// dz of every element of x: dy through pool and ReLU.
std::vector<float> unmasked(const NormBackwardArgs& a) {
  const View x = view(a.x, a.type), dy = view(a.dy, a.type), y = view(a.y, a.type);
  const int64_t channels = a.map.channels;
  std::vector<float> dz(static_cast<size_t>(a.map.count()), 0.0F);
  if (!a.pool) {
    for (int64_t i = 0; i < a.map.count(); ++i) {
      const int64_t from = at_pitch(i, a.map, a.pitch);
      const float out =
          a.y != nullptr ? y.get(i) : normalised(x, from, a.scale, a.shift, i % channels);
      if (let_through(out, a)) {
        dz[static_cast<size_t>(i)] = dy.get(at_pitch(i, a.map, a.dy_pitch));
      }
    }
    return dz;
  }
  for (int64_t at = 0; at < a.map.count() / 4; ++at) {
    float most = 0;
    int64_t winner = 0;
    for (int i = 0; i < 4; ++i) {
      const int64_t from = Quads{a.map}.index(at / channels, at % channels, i);
      const float value = x.rounded(normalised(x, from, a.scale, a.shift, at % channels));
      if (i == 0 || value > most) most = value, winner = from;
    }
    if (let_through(most, a)) dz[static_cast<size_t>(winner)] = dy.get(at);
  }
  return dz;
}

}  // namespace

void norm_stats(const StatsArgs& args) {
  if (args.map.count() == 0) return;
  for (int64_t c = 0; c < args.map.channels; ++c) {
    if (args.summary != nullptr) channel_summary(args, c);
    if (args.cells != nullptr) channel_cells(args, c);
    if (args.weight != nullptr || args.variance != nullptr) channel_stats(args, c);
  }
  if (args.copy != nullptr) {
    copy_channels({args.type, args.map, args.x, args.pitch, args.copy, args.copy_pitch});
  }
  if (args.weight != nullptr && args.batches != nullptr) *args.batches += 1;
}

void norm_moments(const MomentsArgs& args) {
  for (int64_t c = 0; c < args.channels; ++c) {
    channel_norm(args, c, args.known_mean[c], args.known_variance[c], args.positions);
  }
  if (args.batches != nullptr) *args.batches += 1;
}

void pool_cells(const PoolArgs* layers, int64_t count, int size) {
  for (int64_t l = 0; l < count; ++l) {
    for (int64_t c = 0; c < layers[l].map.channels; ++c) {
      for (int64_t out = 0; out < size * size; ++out) pool_one(layers[l], size, c, out);
    }
  }
}

void norm_apply(const ApplyArgs& args) {
  if (args.pool) return apply_pooled(args);
  const View x = view(args.x, args.type), y = view(args.y, args.type);
  const View residual = view(args.residual, args.type);
  for (int64_t i = 0; i < args.map.count(); ++i) {
    float value = normalised(x, at_pitch(i, args.map, args.pitch), args.scale, args.shift,
                             i % args.map.channels);
    if (args.residual != nullptr) value += residual.get(i);
    y.set(at_pitch(i, args.map, args.y_pitch), clipped(value, args));
  }
}

void eval_scale(const EvalScaleArgs& args) {
  for (int64_t c = 0; c < args.channels; ++c) {
    const double scale = args.weight[c] / std::sqrt(double{args.running_var[c]} + args.eps);
    const double centre = double{args.running_mean[c]} - or_zero(args.conv_bias, c);
    args.scale[c] = static_cast<float>(scale);
    args.shift[c] = static_cast<float>(or_zero(args.bias, c) - centre * scale);
  }
}

void norm_backward(const NormBackwardArgs& args) {
  const std::vector<float> dz = unmasked(args);
  const View x = view(args.x, args.type), dx = view(args.dx, args.type);
  const View dz_out = view(args.dz, args.type), plus = view(args.plus, args.type);
  const auto x_at = [&](int64_t i) { return x.get(at_pitch(i, args.map, args.pitch)); };
  const auto plus_at = [&](int64_t i) {
    return args.plus == nullptr ? 0.0F : plus.get(at_pitch(i, args.map, args.plus_pitch));
  };
  const int64_t channels = args.map.channels, count = args.map.count();
  const auto n = static_cast<double>(args.map.positions());
  for (int64_t c = 0; c < channels; ++c) {
    const double mean = args.mean[c], inv_std = args.inv_std[c];
    double sum = 0, product = 0;
    for (int64_t i = c; i < count; i += channels) {
      sum += dz[static_cast<size_t>(i)];
      product += dz[static_cast<size_t>(i)] * (x_at(i) - mean) * inv_std;
    }
    args.dbias[c] = static_cast<float>(sum);
    args.dweight[c] = static_cast<float>(product);
    for (int64_t i = c; i < count; i += channels) {
      const double hat = (x_at(i) - mean) * inv_std, d = dz[static_cast<size_t>(i)];
      if (args.dz != nullptr) dz_out.set(i, dz[static_cast<size_t>(i)]);
      const double own = args.scale[c] * (d - sum / n - hat * product / n);
      dx.set(i, static_cast<float>(own + plus_at(i)));
    }
  }
}

}  // namespace adagp::cuda::reference
