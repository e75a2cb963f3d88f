#include "direct_net.h"

#include <algorithm>

#include "arithmetic.h"

namespace adagp::rtl {

DirectNet::DirectNet(const SmallNet& net) : net_(net), format_(net.machine().format) {
  for (int l = 0; l < net.layers(); ++l) {
    const LayerSize& s = net.size(l);
    const std::size_t count =
        static_cast<std::size_t>(s.out_channels) * s.in_channels * s.kernel * s.kernel +
        s.out_channels;
    weights.push_back({Sums(count), Sums(count), Data(count)});
    inputs_.emplace_back(static_cast<std::size_t>(net.batch_size()) * s.in_channels * s.in_size *
                         s.in_size);
    outputs_.emplace_back(static_cast<std::size_t>(net.batch_size()) * s.out_channels *
                          s.out_size() * s.out_size());
    gradients_.emplace_back(outputs_.back().size());
  }
}

std::size_t DirectNet::at(int l, int b, int c, int y, int x) const {
  const LayerSize& s = net_.size(l);
  return ((static_cast<std::size_t>(b) * s.in_channels + c) * s.in_size + y) * s.in_size + x;
}

std::size_t DirectNet::weight(int l, int n, int c, int ky, int kx) const {
  const LayerSize& s = net_.size(l);
  return ((static_cast<std::size_t>(n) * s.in_channels + c) * s.kernel + ky) * s.kernel + kx;
}

std::pair<int, int> DirectNet::place_of(int l, std::size_t i) const {
  const LayerSize& s = net_.size(l);
  const LayerPlace& p = net_.place(l);
  const int rows = net_.machine().rows, cols = net_.machine().cols, k = s.kernel;
  const int kernels = s.out_channels * s.in_channels * k * k, index = static_cast<int>(i);
  if (index >= kernels) return {p.bias + (index - kernels) / rows, (index - kernels) % rows};
  const int kx = index % k, ky = index / k % k, c = index / (k * k) % s.in_channels;
  const int n = index / (k * k * s.in_channels);
  return {p.w + n / rows * p.tile_rows + ((c / cols * k + ky) * k + kx) * cols + c % cols,
          n % rows};
}

void DirectNet::load(const Sums& outside) {
  outside_ = outside;
  const int lanes = net_.machine().lanes(), cols = net_.machine().cols, rows = net_.machine().rows;
  for (int l = 0; l < net_.layers(); ++l)
    for (std::size_t i = 0; i < weights[l].p.size(); ++i) {
      const auto [row, lane] = place_of(l, i);
      weights[l].p[i] = outside[static_cast<std::size_t>(net_.weights_at + row) * lanes + lane];
      weights[l].w[i] = narrowed(format_, weights[l].p[i], net_.weight_shift);
    }
  const LayerSize& s = net_.size(0);
  const LayerPlace& p = net_.place(0);
  for (int b = 0; b < net_.batch_size(); ++b)
    for (int c = 0; c < s.in_channels; ++c)
      for (int y = 0; y < s.in_size; ++y)
        for (int x = 0; x < s.in_size; ++x) {
          const int beat = net_.image_at + c / cols * p.group_rows +
                           (b * p.padded + y + s.pad) * p.padded + x + s.pad;
          inputs_[0][at(0, b, c, y, x)] = static_cast<std::uint16_t>(
              outside[static_cast<std::size_t>(beat) * lanes + c % cols]);
        }
  const int last = net_.layers() - 1;
  for (int b = 0; b < net_.batch_size(); ++b)
    for (int n = 0; n < net_.size(last).out_channels; ++n)
      targets_.push_back(
          outside[static_cast<std::size_t>(net_.target_at + n / rows * net_.place(last).m + b) *
                      lanes +
                  n % rows]);
}

void DirectNet::forward(int l) {
  const LayerSize& s = net_.size(l);
  const bool last = l + 1 == net_.layers();
  const int out = s.out_size(), cols = net_.machine().cols, k = s.kernel;
  std::size_t o = 0;
  for (int b = 0; b < net_.batch_size(); ++b)
    for (int n = 0; n < s.out_channels; ++n)
      for (int y = 0; y < out; ++y)
        for (int x = 0; x < out; ++x, ++o) {
          std::uint32_t sum = last ? targets_[o] : 0;
          for (int first = 0; first < s.in_channels; first += cols)
            for (int ky = 0; ky < k; ++ky)
              for (int kx = 0; kx < k; ++kx)
                for (int c = first; c < std::min(first + cols, s.in_channels); ++c) {
                  const int iy = y + ky - s.pad, ix = x + kx - s.pad;
                  if (iy < 0 || ix < 0 || iy >= s.in_size || ix >= s.in_size) continue;
                  sum = mac(format_, inputs_[l][at(l, b, c, iy, ix)],
                            weights[l].w[weight(l, n, c, ky, kx)], sum);
                }
          outputs_[l][o] = sum;
          const std::uint32_t bias = weights[l].p[weights[l].p.size() - s.out_channels + n];
          const std::uint32_t biased = add(format_, sum, bias);
          if (last) {
            gradients_[l][o] = narrowed(format_, biased, net_.data_shift);
          } else {
            inputs_[l + 1][o] = narrowed(format_, biased >> 31 ? 0 : biased, net_.data_shift);
          }
        }
  if (last) residual = gradients_[l];
}

void DirectNet::apply(int l, std::size_t i, std::uint32_t gradient, int shift) {
  Weights& w = weights[l];
  w.v[i] = add(format_,
               add(format_, w.v[i], negated(format_, scaled(format_, w.v[i], net_.momentum_shift))),
               gradient);
  w.p[i] = add(format_, w.p[i], negated(format_, scaled(format_, w.v[i], shift)));
  w.w[i] = narrowed(format_, w.p[i], net_.weight_shift);
}

void DirectNet::backward(int l) {
  const LayerSize& s = net_.size(l);
  const int out = s.out_size(), k = s.kernel, rows = net_.machine().rows;
  const auto gradient = [&](int b, int n, int y, int x) {
    return gradients_[l][((static_cast<std::size_t>(b) * s.out_channels + n) * out + y) * out + x];
  };
  if (l > 0)
    for (int b = 0; b < net_.batch_size(); ++b)
      for (int c = 0; c < s.in_channels; ++c)
        for (int y = 0; y < s.in_size; ++y)
          for (int x = 0; x < s.in_size; ++x) {
            std::uint32_t sum = 0;
            for (int first = 0; first < s.out_channels; first += rows)
              for (int ky = 0; ky < k; ++ky)
                for (int kx = 0; kx < k; ++kx) {
                  const int oy = y + s.pad - ky, ox = x + s.pad - kx;
                  if (oy < 0 || ox < 0 || oy >= out || ox >= out) continue;
                  for (int n = first; n < std::min(first + rows, s.out_channels); ++n)
                    sum = mac(format_, gradient(b, n, oy, ox),
                              weights[l].w[weight(l, n, c, ky, kx)], sum);
                }
            const std::size_t i = at(l, b, c, y, x);
            const bool passes = static_cast<std::int16_t>(inputs_[l][i]) > 0;
            gradients_[l - 1][i] = passes ? narrowed(format_, sum, net_.data_shift) : 0;
          }
  for (int n = 0; n < s.out_channels; ++n) {
    for (int c = 0; c < s.in_channels; ++c)
      for (int ky = 0; ky < k; ++ky)
        for (int kx = 0; kx < k; ++kx) {
          std::uint32_t sum = 0;
          for (int b = 0; b < net_.batch_size(); ++b)
            for (int y = 0; y < out; ++y)
              for (int x = 0; x < out; ++x) {
                const int iy = y + ky - s.pad, ix = x + kx - s.pad;
                if (iy < 0 || ix < 0 || iy >= s.in_size || ix >= s.in_size) continue;
                sum = mac(format_, inputs_[l][at(l, b, c, iy, ix)], gradient(b, n, y, x), sum);
              }
          apply(l, weight(l, n, c, ky, kx), sum, net_.step_shift);
        }
    std::uint32_t sum = 0;
    for (int b = 0; b < net_.batch_size(); ++b)
      for (int y = 0; y < out; ++y)
        for (int x = 0; x < out; ++x)
          sum = add(format_, sum, widened(format_, gradient(b, n, y, x)));
    apply(l, weights[l].p.size() - s.out_channels + n, sum, net_.bias_step_shift);
  }
}

// Pool to 2 x 2, a hidden layer with ReLU, one value per weight of the filter.
void DirectNet::predict(int l) {
  const LayerSize& s = net_.size(l);
  const int out = s.out_size(), window = std::max(1, out / 2), next = out >= 2 ? window : 0;
  const int lanes = net_.machine().lanes(), cells = 4;
  const auto constant = [&](int beat, int lane) {
    return static_cast<std::uint16_t>(outside_[static_cast<std::size_t>(beat) * lanes + lane]);
  };
  for (int n = 0; n < s.out_channels; ++n) {
    Data features, hidden;
    for (int cell = 0; cell < cells; ++cell) {
      std::uint32_t sum = 0;
      for (int b = 0; b < net_.batch_size(); ++b)
        for (int y = 0; y < window; ++y)
          for (int x = 0; x < window; ++x)
            sum = add(format_, sum,
                      outputs_[l][((static_cast<std::size_t>(b) * s.out_channels + n) * out +
                                   cell / 2 * next + y) *
                                      out +
                                  cell % 2 * next + x]);
      features.push_back(narrowed(format_, sum, net_.mean_shift + net_.data_shift));
    }
    for (int h = 0; h < net_.feature_rows(); ++h) {
      std::uint32_t sum = 0;
      for (int cell = 0; cell < cells; ++cell)
        sum = mac(format_, constant(net_.hidden_at + h, cell), features[cell], sum);
      hidden.push_back(narrowed(format_, sum >> 31 ? 0 : sum, net_.data_shift));
    }
    for (int i = 0; i < s.in_channels * s.kernel * s.kernel; ++i) {
      const std::size_t index =
          static_cast<std::size_t>(n) * s.in_channels * s.kernel * s.kernel + i;
      const int row = (place_of(l, index).first - net_.place(l).w) % net_.place(l).tile_rows;
      std::uint32_t sum = 0;
      for (int h = 0; h < net_.feature_rows(); ++h)
        sum = mac(format_, constant(net_.final_at + row, h), hidden[h], sum);
      apply(l, index, sum, net_.predicted_step_shift);
    }
  }
}

void DirectNet::step(Phase phase) {
  for (int l = 0; l < net_.layers(); ++l) {
    forward(l);
    if (phase == Phase::kGp) predict(l);
  }
  for (int l = net_.layers() - 1; l >= 0 && phase != Phase::kGp; --l) backward(l);
}

}  // namespace adagp::rtl
