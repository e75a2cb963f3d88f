#pragma once
// Numbers in double precision with bounds of the machine's distance from them.

#include <cmath>

#include "predictor_example.h"

namespace adagp::rtl {

struct Value {
  double value = 0, bound = 0;  // of the machine's distance from it
};

inline Value times(Value v, double factor) {
  return {v.value * factor, v.bound * std::fabs(factor)};
}
// Rounded to bfloat16.
inline Value narrow_of(Value v) {
  return {v.value, v.bound + kHalfUnit * (std::fabs(v.value) + v.bound)};
}

// A sum in float32: each addition is off by at most 2^-24 of what is added up.
class Sum {
 public:
  void add(Value a, Value b = {1, 0}) {
    const double value = a.value * b.value, error = std::fabs(a.value) * b.bound +
                                                    std::fabs(b.value) * a.bound +
                                                    a.bound * b.bound;
    value_ += value;
    bound_ += error;
    sizes_ += std::fabs(value) + error;
    ++count_;
  }
  Value done() const { return {value_, bound_ + sizes_ * std::ldexp(count_, -24)}; }

 private:
  double value_ = 0, bound_ = 0, sizes_ = 0;
  int count_ = 0;
};

}  // namespace adagp::rtl
