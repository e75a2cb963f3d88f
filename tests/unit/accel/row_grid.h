#pragma once
// Eyeriss' array for small convolutions: logical PEs (channel, filter, filter row, output row) get
// places on A x B physical ones, one MAC per PE and clock, partial sums of a column go up.

#include "adagp/sim/accel/row_stationary.h"

#include <algorithm>
#include <functional>

#include "unit/accel/pe_grid.h"

namespace adagp::test {

using Tensor4 = std::function<double(int64_t, int64_t, int64_t, int64_t)>;

// out[b][m][e][f] flattened; input(b, c, y, x) and filter(m, c, r, s) are functions so that
// padding, flipping and exchanging axes are the caller's.
struct ConvRun {
  std::vector<double> out;
  int64_t cycles = 0;
  int64_t most_places = 0;  // physical PEs in use at once
};

inline ConvRun row_stationary(const accel::Conv& c, int64_t stride, const accel::Array& array,
                              const Tensor4& input, const Tensor4& filter) {
  const accel::RowMapping map = accel::map_rows(c, array);
  const int64_t filter_rows = std::min(c.filter_h, array.rows);
  const int64_t strip_rows = std::min(c.out_h, array.columns);
  const int64_t strips_at_once = (map.strips + map.fold_w - 1) / map.fold_w;
  const int64_t filters_across = std::min(map.repl_w, map.filters);
  const int64_t filters_up = (map.filters + filters_across - 1) / filters_across;
  ConvRun run;
  run.out.assign(static_cast<size_t>(c.batch * c.filters * c.out_h * c.out_w), 0);

  struct Pe {
    int64_t m, ch, r, e;
  };
  // One pass: places are given out, then S*F clocks.
  const auto pass = [&](int64_t b, int64_t w, int64_t h, int64_t c0, int64_t m0) {
    std::vector<Pe> pes;
    std::set<std::pair<int64_t, int64_t>> places;
    for (int64_t s = 0; s < strips_at_once; ++s) {
      for (int64_t ci = 0; ci < map.channels; ++ci) {
        for (int64_t mo = 0; mo < map.filters; ++mo) {
          const int64_t block = (s * map.channels + ci) * filters_up + mo / filters_across;
          for (int64_t r = 0; r < filter_rows; ++r) {
            for (int64_t e = 0; e < strip_rows; ++e) {
              const Pe pe{m0 + mo, c0 + ci, h * filter_rows + r,
                          (w * strips_at_once + s) * strip_rows + e};
              if (pe.m >= c.filters || pe.ch >= c.channels || pe.r >= c.filter_h ||
                  pe.e >= c.out_h) {
                continue;
              }
              const int64_t y = block * filter_rows + r;
              const int64_t x = (mo % filters_across) * strip_rows + e;
              if (y >= array.rows || x >= array.columns || !places.insert({y, x}).second) {
                throw std::logic_error("two PEs in one place, or outside the array");
              }
              pes.push_back(pe);
            }
          }
        }
      }
    }
    run.most_places = std::max(run.most_places, static_cast<int64_t>(places.size()));
    std::vector<double> sums(pes.size());
    for (int64_t f = 0; f < c.out_w; ++f) {
      for (int64_t s = 0; s < c.filter_w; ++s, ++run.cycles) {
        for (size_t i = 0; i < pes.size(); ++i) {
          const Pe& p = pes[i];
          sums[i] += filter(p.m, p.ch, p.r, s) * input(b, p.ch, p.e * stride + p.r, f * stride + s);
        }
      }
      for (size_t i = 0; i < pes.size(); ++i) {
        const Pe& p = pes[i];
        run.out[static_cast<size_t>(((b * c.filters + p.m) * c.out_h + p.e) * c.out_w + f)] +=
            std::exchange(sums[i], 0);
      }
    }
  };
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t w = 0; w < map.fold_w; ++w) {
      for (int64_t h = 0; h < map.fold_h; ++h) {
        for (int64_t c0 = 0; c0 < c.channels; c0 += map.channels) {
          for (int64_t m0 = 0; m0 < c.filters; m0 += map.filters) pass(b, w, h, c0, m0);
        }
      }
    }
  }
  return run;
}

}  // namespace adagp::test
