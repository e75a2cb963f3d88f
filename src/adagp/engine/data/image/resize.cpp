// Both passes work on 16-bit integers with 8 bits behind the point: the same bytes on every
// processor, and four to eight times as many values in a register as with floating point.

#include "adagp/engine/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "adagp/engine/data/image/simd_dispatch.h"

namespace adagp::data {
namespace {

constexpr int kUnrolled = 8;  // widest filter whose taps are unrolled

// Output position i is made of input positions first[i] .. first[i] + taps - 1.
struct Filter {
  int64_t taps = 0;
  std::vector<int64_t> first;
  std::vector<uint16_t> weights;  // [positions, taps], in 1 / 65536; they add up to 65535

  const uint16_t* at(int64_t i) const { return weights.data() + i * taps; }
};

// Which input positions an output position is made of. `from`, `length`: the part of `size` input
// positions that becomes full_out output positions, of which `count` are made from `begin` on.
struct Places {
  double from, scale, support;
  int64_t lowest, end;  // of the input positions inside the part
  int64_t begin, taps = 0;

  Places(double part, double length, int64_t size, int64_t full_out, int64_t first, int64_t count)
      : from(part),
        scale(length / static_cast<double>(full_out)),
        support(std::max(scale, 1.0)),
        lowest(std::clamp<int64_t>(static_cast<int64_t>(std::floor(from)), 0, size - 1)),
        end(std::clamp<int64_t>(static_cast<int64_t>(std::ceil(from + length)), lowest + 1, size)),
        begin(first) {
    for (int64_t i = 0; i < count; ++i) taps = std::max(taps, high(i) - low(i));
  }
  double centre(int64_t i) const { return from + (static_cast<double>(begin + i) + 0.5) * scale; }
  int64_t low(int64_t i) const {
    const auto first = static_cast<int64_t>(std::floor(centre(i) - support + 0.5));
    return std::clamp<int64_t>(first, lowest, end - 1);
  }
  int64_t high(int64_t i) const {
    const auto last = static_cast<int64_t>(std::floor(centre(i) + support + 0.5));
    return std::clamp<int64_t>(last, low(i) + 1, end);
  }
  // Where `taps` positions begin that hold those from low(i) on and lie inside the part.
  int64_t first(int64_t i) const { return std::min(low(i), end - taps); }
};

Filter triangle(const Places& places, int64_t count) {
  Filter filter;
  filter.taps = places.taps;
  filter.first.resize(static_cast<size_t>(count));
  filter.weights.assign(static_cast<size_t>(count * filter.taps), 0);
  std::vector<double> weights(static_cast<size_t>(filter.taps));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = places.low(i), used = places.high(i) - at, first = places.first(i);
    const double centre = places.centre(i);
    double sum = 0;
    for (int64_t j = 0; j < used; ++j) {
      const double distance = std::abs(static_cast<double>(at + j) + 0.5 - centre) / places.support;
      weights[static_cast<size_t>(j)] = std::max(0.0, 1.0 - distance);
      sum += weights[static_cast<size_t>(j)];
    }
    if (sum == 0) weights[0] = sum = 1;  // one pixel, beside its centre
    filter.first[static_cast<size_t>(i)] = first;
    uint16_t* out = filter.weights.data() + i * filter.taps + (at - first);
    // Rounding the running sum keeps the total exact.
    double reached = 0;
    int64_t given = 0;
    for (int64_t j = 0; j < used; ++j) {
      reached += weights[static_cast<size_t>(j)] / sum * 65535.0;
      const int64_t upto = j + 1 == used ? 65535 : static_cast<int64_t>(reached + 0.5);
      out[j] = static_cast<uint16_t>(upto - given);
      given = upto;
    }
  }
  return filter;
}

inline uint16_t high_product(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>((static_cast<uint32_t>(a) * b) >> 16);
}

// A product's fraction is cut off, half a unit in the mean: what a sum of `taps` begins with to
// make up for it. More would run over.
uint16_t lost(int64_t taps) {
  return static_cast<uint16_t>(std::min<int64_t>(taps / 2, 48));
}

// line[j] = sum over k of weights[k] * rows[k][j], of the first row's or added to what is there.
template <int kTaps, bool kAdd>
inline void mix_few_rows(const uint8_t* rows, int64_t stride, const uint16_t* weights,
                         uint16_t begin, int64_t count, uint16_t* __restrict line) {
  uint16_t w[kTaps];  // a copy, which cannot lie in `line`
  std::memcpy(w, weights, sizeof w);
  for (int64_t j = 0; j < count; ++j) {
    uint16_t sum = kAdd ? line[j] : begin;
    for (int k = 0; k < kTaps; ++k) {
      const auto value = static_cast<uint16_t>(rows[k * stride + j] << 8);
      sum = static_cast<uint16_t>(sum + high_product(value, w[k]));
    }
    line[j] = sum;
  }
}

ADAGP_WIDE void mix_rows(const uint8_t* rows, int64_t stride, const uint16_t* weights, int64_t taps,
                         int64_t count, uint16_t* line) {
  const uint16_t begin = lost(taps);
  const int64_t few = (taps - 1) % 4 + 1;
  if (few == 1) mix_few_rows<1, false>(rows, stride, weights, begin, count, line);
  if (few == 2) mix_few_rows<2, false>(rows, stride, weights, begin, count, line);
  if (few == 3) mix_few_rows<3, false>(rows, stride, weights, begin, count, line);
  if (few == 4) mix_few_rows<4, false>(rows, stride, weights, begin, count, line);
  for (int64_t k = few; k < taps; k += 4) {
    mix_few_rows<4, true>(rows + k * stride, stride, weights + k, 0, count, line);
  }
}

// Two pixels, each with the red of its neighbour behind it.
using Lanes = uint16_t __attribute__((vector_size(16)));
using Halves = uint64_t __attribute__((vector_size(16)));
using Bytes = uint8_t __attribute__((vector_size(8)));

inline Lanes high_product(Lanes a, Lanes b) {
#ifdef __SSE2__
  return reinterpret_cast<Lanes>(
      _mm_mulhi_epu16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  using Wide = uint32_t __attribute__((vector_size(32)));
  return __builtin_convertvector(
      (__builtin_convertvector(a, Wide) * __builtin_convertvector(b, Wide)) >> 16, Lanes);
#endif
}

// The filter of the columns by pairs of output pixels.
struct Pairs {
  int64_t taps = 0;
  std::vector<int64_t> first;  // of each pixel, in values of the line; even in number
  std::vector<Lanes> weights;  // [pairs, taps]
};

Pairs pair_up(const Filter& filter, int64_t offset, bool mirrored) {
  const auto count = static_cast<int64_t>(filter.first.size());
  const auto place = [&](int64_t x) { return mirrored ? count - 1 - x : x; };
  Pairs pairs;
  pairs.taps = filter.taps;
  for (int64_t x = 0; x < count; x += 2) {
    const int64_t one = place(x), next = place(std::min(x + 1, count - 1));
    for (const int64_t at : {one, next}) {
      pairs.first.push_back((filter.first[static_cast<size_t>(at)] - offset) * 3);
    }
    for (int64_t k = 0; k < filter.taps; ++k) {
      const uint16_t a = filter.at(one)[k], b = filter.at(next)[k];
      pairs.weights.push_back(Lanes{a, a, a, a, b, b, b, b});
    }
  }
  return pairs;
}

// Writes 8 bytes past the last pixel at most.
template <int kTaps>
void mix_columns(const uint16_t* line, const Pairs& pairs, uint8_t* out) {
  const int64_t taps = kTaps > 0 ? kTaps : pairs.taps;
  const Lanes* weights = pairs.weights.data();
  // Half a level, because the shift below cuts off.
  const Lanes begin = Lanes{} + static_cast<uint16_t>(128 + lost(taps));
  for (size_t x = 0; x < pairs.first.size(); x += 2, out += 6) {
    const uint16_t* p = line + pairs.first[x];
    const uint16_t* q = line + pairs.first[x + 1];
    Lanes sum = begin;
    for (int64_t k = 0; k < taps; ++k) {
      uint64_t left = 0, right = 0;  // not by bytes into the register: that stalls
      std::memcpy(&left, p + 3 * k, sizeof left);
      std::memcpy(&right, q + 3 * k, sizeof right);
      const auto pixels = reinterpret_cast<Lanes>(Halves{left, right});
      sum += high_product(pixels, *weights++);
    }
    const Bytes bytes = __builtin_convertvector(sum >> 8, Bytes);
    const auto both = reinterpret_cast<uint64_t>(bytes);
    const auto first = static_cast<uint32_t>(both), second = static_cast<uint32_t>(both >> 32);
    std::memcpy(out, &first, sizeof first);
    std::memcpy(out + 3, &second, sizeof second);
  }
}

using MixColumns = void (*)(const uint16_t*, const Pairs&, uint8_t*);

template <int... kTaps>
MixColumns pick(int64_t taps, std::integer_sequence<int, kTaps...>) {
  MixColumns found = mix_columns<0>;
  ((taps == kTaps + 1 ? void(found = mix_columns<kTaps + 1>) : void()), ...);
  return found;
}

}  // namespace

void resize(const PixelView& source, const ResizePlan& plan, uint8_t* out) {
  resize(source, {0, 0, static_cast<double>(source.height), static_cast<double>(source.width)},
         plan, out);
}

Span needed(double from, double length, int64_t size, int64_t full_out, int64_t begin,
            int64_t count) {
  const Places places(from, length, size, full_out, begin, count);
  return {places.first(0), places.first(count - 1) + places.taps};
}

void resize(const PixelView& source, const SourceBox& box, const ResizePlan& plan, uint8_t* out) {
  const Filter columns = triangle(
      {box.left, box.width, source.width, plan.full_width, plan.left, plan.width}, plan.width);
  const Filter rows = triangle(
      {box.top, box.height, source.height, plan.full_height, plan.top, plan.height}, plan.height);
  const int64_t left = columns.first.front();
  const Pairs pairs = pair_up(columns, left, plan.mirrored);
  const MixColumns mix = pick(columns.taps, std::make_integer_sequence<int, kUnrolled>());
  const int64_t values = (columns.first.back() + columns.taps - left) * 3;
  const int64_t row_bytes = plan.width * 3;
  std::vector<uint16_t> line(static_cast<size_t>(values + 1));
  std::vector<uint8_t> mixed(static_cast<size_t>(row_bytes + 8));
  for (int64_t y = 0; y < plan.height; ++y) {
    const uint8_t* first = source.rgb +
                           (rows.first[static_cast<size_t>(y)] - source.top) * source.stride +
                           (left - source.left) * 3;
    mix_rows(first, source.stride, rows.at(y), rows.taps, values, line.data());
    mix(line.data(), pairs, mixed.data());
    std::memcpy(out, mixed.data(), static_cast<size_t>(row_bytes));
    out += row_bytes;
  }
}

}  // namespace adagp::data
