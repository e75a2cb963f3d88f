#pragma once
// Random numbers that are the same on every machine, and whose state fits into a checkpoint.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace adagp::core {

// A well-mixed 64-bit value that depends on every argument: the seed of a pure function of
// (seed, epoch, index), so that nothing depends on the order in which things are asked for.
uint64_t mix(std::initializer_list<uint64_t> parts);

// xoshiro256**, seeded through splitmix64.
class Rng {
 public:
  explicit Rng(uint64_t seed = 0);

  uint64_t next();
  double uniform();  // [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  int64_t below(int64_t limit);  // 0 .. limit-1, without modulo bias
  double normal();               // mean 0, variance 1

  std::string state() const;                // 64 hexadecimal digits
  void set_state(const std::string& text);  // throws DataError

 private:
  std::array<uint64_t, 4> s_;
};

// A random order of 0 .. count-1.
std::vector<int64_t> permutation(int64_t count, uint64_t seed);

}  // namespace adagp::core
