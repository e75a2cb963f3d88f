#include "adagp/sim/arrays/procrustes_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "adagp/base/core/rng.h"
#include "adagp/sim/accel/checked_math.h"

namespace adagp::arrays {
namespace {

using accel::ceil_div;

bool is_kn(const accel::ProcrustesMapping& mapping) {
  return mapping.mapping == "kn";
}

int64_t tile_work(std::vector<int64_t>& halves, bool balance) {
  return balance ? fullest_balanced_tile(halves) : fullest_tile(halves);
}

// Channels of a tile with so many filters.
int64_t tile_channels(const PairCounts& pairs, int64_t filters, int64_t registers) {
  return std::clamp<int64_t>(registers / (filters * pairs.kernel), 1, pairs.channels);
}

int64_t block_count(const PairCounts& pairs, int64_t filter, int64_t first, int64_t end) {
  int64_t sum = 0;
  for (int64_t c = first; c < std::min(end, pairs.channels); ++c) sum += pairs.at(filter, c);
  return sum;
}

WeightCycles kn_cycles(const PairCounts& pairs, int64_t rows,
                       const accel::ProcrustesMapping& mapping) {
  const int64_t rounds = ceil_div(pairs.filters, rows);
  WeightCycles out;
  out.dense = accel::mul(rounds, pairs.channels, pairs.kernel);
  for (int64_t round = 0; round < rounds; round += 2) {
    const int64_t of_pe = std::min<int64_t>(2, rounds - round);  // filters of a PE
    const int64_t step = tile_channels(pairs, of_pe, mapping.registers);
    for (int64_t first = 0; first < pairs.channels; first += step) {
      std::vector<int64_t> halves(static_cast<size_t>(2 * rows), 0);
      for (int64_t pe = 0; pe < rows; ++pe) {
        for (int64_t half = 0; half < of_pe; ++half) {
          const int64_t filter = (round + half) * rows + pe;
          if (filter >= pairs.filters) continue;
          halves[static_cast<size_t>(2 * pe + half)] =
              block_count(pairs, filter, first, first + step);
        }
      }
      // One filter cannot be cut along the mapped side.
      out.sparse += tile_work(halves, mapping.balance && of_pe == 2);
    }
  }
  return out;
}

WeightCycles ck_cycles(const PairCounts& pairs, const accel::Array& array,
                       const accel::ProcrustesMapping& mapping) {
  const int64_t of_pe = ck_channels(pairs.channels, pairs.kernel, array, mapping);
  WeightCycles out;
  for (int64_t column = 0; column < pairs.filters; column += array.columns) {
    for (int64_t first = 0; first < pairs.channels; first += array.rows * of_pe) {
      const int64_t left = std::min(array.rows * of_pe, pairs.channels - first);
      const int64_t share = ceil_div(left, array.rows);  // channels of a PE, fewer at the end
      int64_t most = 0;
      for (int64_t f = column; f < std::min(column + array.columns, pairs.filters); ++f) {
        for (int64_t pe = 0; pe < array.rows; ++pe) {
          const int64_t at = first + pe * share;
          most = std::max(most, block_count(pairs, f, at, at + share));
        }
      }
      out.sparse += most;
      out.dense += share * pairs.kernel;
    }
  }
  return out;
}

// Mean over draws of the fullest tile, as a share of a tile's weights.
double drawn_share(int64_t tiles, int64_t weights, double density, bool balance) {
  // The mean of a small tile's maximum varies by a fifth from draw to draw.
  const int64_t draws = std::clamp<int64_t>(4'000'000 / (tiles * weights), 100, 4000);
  core::Rng random(core::mix({static_cast<uint64_t>(tiles), static_cast<uint64_t>(weights),
                              std::bit_cast<uint64_t>(density)}));
  double sum = 0;
  for (int64_t draw = 0; draw < draws; ++draw) {
    std::vector<int64_t> halves(static_cast<size_t>(2 * tiles), 0);
    for (size_t i = 0; i < halves.size(); ++i) {
      const int64_t size = i % 2 == 0 ? weights / 2 : weights - weights / 2;
      for (int64_t w = 0; w < size; ++w) halves[i] += random.uniform() < density ? 1 : 0;
    }
    sum += static_cast<double>(tile_work(halves, balance)) / static_cast<double>(weights);
  }
  return sum / static_cast<double>(draws);
}

}  // namespace

int64_t fullest_tile(std::span<const int64_t> halves) {
  int64_t most = 0;
  for (size_t i = 0; i + 1 < halves.size(); i += 2)
    most = std::max(most, halves[i] + halves[i + 1]);
  return most;
}

int64_t fullest_balanced_tile(std::vector<int64_t> halves) {
  std::sort(halves.begin(), halves.end());
  int64_t most = 0;
  for (size_t i = 0; i < halves.size() / 2; ++i) {
    most = std::max(most, halves[i] + halves[halves.size() - 1 - i]);
  }
  return most;
}

PairCounts count_pairs(const accel::ZeroBits& w, int64_t groups, bool reversed) {
  const int64_t kernel = w.outer[1] * w.outer[2], out = w.outer[0], of_group = out / groups;
  PairCounts pairs;
  pairs.kernel = kernel;
  pairs.filters = reversed ? w.channels * groups : out;
  pairs.channels = reversed ? of_group : w.channels;
  pairs.counts.assign(static_cast<size_t>(pairs.filters * pairs.channels), 0);
  for (int64_t m = 0; m < out; ++m) {
    for (int64_t c = 0; c < w.channels; ++c) {
      int32_t count = 0;
      for (int64_t k = 0; k < kernel; ++k) count += w.at(m * kernel + k, c) ? 1 : 0;
      const int64_t filter = reversed ? m / of_group * w.channels + c : m;
      const int64_t channel = reversed ? m % of_group : c;
      pairs.counts[static_cast<size_t>(filter * pairs.channels + channel)] = count;
    }
  }
  return pairs;
}

int64_t ck_channels(int64_t channels, int64_t kernel, const accel::Array& array,
                    const accel::ProcrustesMapping& mapping) {
  return std::clamp<int64_t>(mapping.registers / kernel, 1, ceil_div(channels, array.rows));
}

WeightCycles weight_cycles(const PairCounts& pairs, const accel::Array& array,
                           const accel::ProcrustesMapping& mapping) {
  return is_kn(mapping) ? kn_cycles(pairs, array.rows, mapping) : ck_cycles(pairs, array, mapping);
}

WeightCycles drawn_weight_cycles(int64_t filters, int64_t channels, int64_t kernel, double density,
                                 const accel::Array& array, const accel::ProcrustesMapping& mapping,
                                 Draws* draws) {
  PairCounts shape;
  shape.filters = filters;
  shape.channels = channels;
  shape.kernel = kernel;
  WeightCycles out;
  int64_t tiles = 0, weights = 0;
  bool balance = false;
  if (is_kn(mapping)) {
    const int64_t rounds = ceil_div(filters, array.rows), of_pe = std::min<int64_t>(2, rounds);
    out.dense = accel::mul(rounds, channels, kernel);
    tiles = std::min(array.rows, filters);
    weights = of_pe * tile_channels(shape, of_pe, mapping.registers) * kernel;
    balance = mapping.balance && of_pe == 2;
  } else {
    out.dense =
        accel::mul(ceil_div(filters, array.columns), ceil_div(channels, array.rows), kernel);
    tiles = std::min(array.rows, channels) * std::min(array.columns, filters);
    weights = ck_channels(channels, kernel, array, mapping) * kernel;
  }
  const auto draw = [&] {
    return density >= 1 ? 1.0 : drawn_share(tiles, weights, density, balance);
  };
  const double share =
      draws == nullptr ? draw()
                       : draws->get({static_cast<uint64_t>(tiles), static_cast<uint64_t>(weights),
                                     std::bit_cast<uint64_t>(density), uint64_t{balance}},
                                    draw);
  out.sparse = std::llround(static_cast<double>(out.dense) * share);
  return out;
}

}  // namespace adagp::arrays
