#include "adagp/base/core/rng.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <numbers>
#include <numeric>

#include "adagp/base/core/error.h"

namespace adagp::core {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

uint64_t finalise(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t mix(std::initializer_list<uint64_t> parts) {
  uint64_t h = kGolden;
  for (const uint64_t part : parts) h = finalise(h + kGolden + finalise(part + kGolden));
  return h;
}

Rng::Rng(uint64_t seed) {
  for (auto& word : s_) word = finalise(seed += kGolden);
}

uint64_t Rng::next() {
  const uint64_t result = std::rotl(s_[1] * 5, 7) * 9;
  const uint64_t t = s_[1] << 17;
  s_[2] ^= s_[0];
  s_[3] ^= s_[1];
  s_[1] ^= s_[2];
  s_[0] ^= s_[3];
  s_[2] ^= t;
  s_[3] = std::rotl(s_[3], 45);
  return result;
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

int64_t Rng::below(int64_t limit) {
  const auto n = static_cast<uint64_t>(limit);
  const uint64_t reject_under = (0 - n) % n;
  uint64_t value = next();
  while (value < reject_under) value = next();
  return static_cast<int64_t>(value % n);
}

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::string Rng::state() const {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const uint64_t word : s_) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[word >> shift & 0xF];
  }
  return text;
}

void Rng::set_state(const std::string& text) {
  if (text.size() != 64) throw DataError("random state: expected 64 hexadecimal digits");
  for (size_t i = 0; i < s_.size(); ++i) {
    const char* first = text.data() + 16 * i;
    const auto [end, error] = std::from_chars(first, first + 16, s_[i], 16);
    if (error != std::errc() || end != first + 16) {
      throw DataError("random state: expected 64 hexadecimal digits");
    }
  }
}

std::vector<int64_t> permutation(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  Rng rng(seed);
  for (int64_t i = count - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
  return order;
}

}  // namespace adagp::core
