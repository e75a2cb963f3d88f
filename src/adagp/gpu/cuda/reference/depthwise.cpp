#include "adagp/gpu/cuda/conv/depthwise.h"

#include <cmath>

#include "adagp/gpu/cuda/bf16.h"

namespace adagp::cuda {
namespace {

constexpr int kFilter = 3;

struct Walk {
  Map in, out;
  int64_t stride;
  explicit Walk(const DepthwiseArgs& args)
      : in(args.map), out(depthwise_output(args.map, args.stride)), stride(args.stride) {}
  static int64_t at(const Map& map, int64_t image, int64_t row, int64_t column, int64_t channel) {
    return ((image * map.height + row) * map.width + column) * map.channels + channel;
  }
};

template <typename F>
void for_all(const Map& map, const F& f) {
  for (int64_t n = 0; n < map.batch; ++n) {
    for (int64_t row = 0; row < map.height; ++row) {
      for (int64_t column = 0; column < map.width; ++column) {
        for (int64_t c = 0; c < map.channels; ++c) f(n, row, column, c);
      }
    }
  }
}

bool inside(const Map& map, int64_t row, int64_t column) {
  return row >= 0 && row < map.height && column >= 0 && column < map.width;
}

}  // namespace

void reference::depthwise_forward(const DepthwiseArgs& args) {
  const Walk w(args);
  for_all(w.out, [&](int64_t n, int64_t row, int64_t column, int64_t c) {
    float sum = 0;
    for (int64_t tap = 0; tap < kFilter * kFilter; ++tap) {
      const int64_t from_row = row * w.stride + tap / kFilter - 1;
      const int64_t from_column = column * w.stride + tap % kFilter - 1;
      if (!inside(w.in, from_row, from_column)) continue;
      sum = std::fmaf(load_as_float(args.x, args.type, Walk::at(w.in, n, from_row, from_column, c)),
                      load_as_float(args.weight, args.type, c * kFilter * kFilter + tap), sum);
    }
    store_from_float(args.y, args.type, Walk::at(w.out, n, row, column, c), sum);
  });
}

// Rows of dy from the first to the last, and within a row the filter's columns in their order: as
// the kernel adds.
void reference::depthwise_input_gradient(const DepthwiseArgs& args) {
  const Walk w(args);
  for_all(w.in, [&](int64_t n, int64_t row, int64_t column, int64_t c) {
    float sum = 0;
    for (int64_t down = kFilter - 1; down >= 0; --down) {
      for (int64_t across = 0; across < kFilter; ++across) {
        const int64_t rows = row + 1 - down, columns = column + 1 - across;
        if (rows % w.stride != 0 || columns % w.stride != 0) continue;
        const int64_t from_row = rows / w.stride, from_column = columns / w.stride;
        if (!inside(w.out, from_row, from_column)) continue;
        sum = std::fmaf(
            load_as_float(args.dy, args.type, Walk::at(w.out, n, from_row, from_column, c)),
            load_as_float(args.weight, args.type, (c * kFilter + down) * kFilter + across), sum);
      }
    }
    store_from_float(args.dx, args.type, Walk::at(w.in, n, row, column, c), sum);
  });
}

void reference::depthwise_weight_gradient(const DepthwiseArgs& args) {
  const Walk w(args);
  for (int64_t c = 0; c < w.in.channels; ++c) {
    for (int64_t tap = 0; tap < kFilter * kFilter; ++tap) {
      double sum = 0;
      for (int64_t n = 0; n < w.out.batch; ++n) {
        for (int64_t row = 0; row < w.out.height; ++row) {
          for (int64_t column = 0; column < w.out.width; ++column) {
            const int64_t from_row = row * w.stride + tap / kFilter - 1;
            const int64_t from_column = column * w.stride + tap % kFilter - 1;
            if (!inside(w.in, from_row, from_column)) continue;
            sum += double{load_as_float(args.dy, args.type, Walk::at(w.out, n, row, column, c))} *
                   load_as_float(args.x, args.type, Walk::at(w.in, n, from_row, from_column, c));
          }
        }
      }
      store_from_float(args.dweight, args.type, c * kFilter * kFilter + tap,
                       static_cast<float>(sum));
    }
  }
}

}  // namespace adagp::cuda
