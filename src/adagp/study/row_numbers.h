#pragma once
// What a line of a study's output says in numbers.

#include <string>

#include "adagp/study/output.h"

namespace adagp::study {

// Whether the study's runs are forward passes alone.
bool inference(const Study& study);

// The numbers of a line, whichever mode.
struct Numbers {
  std::string design;
  int64_t cycles, vector, stall, total;
  accel::Energy energy;
  double seconds;
  double speedup = 1, energy_ratio = 1, memory_ratio = 1;
};
Numbers numbers_of(const Study& study, const Row& row);

// Of the design: with its second array, where it has one.
int64_t pes_of(const Study& study, const Row& row);

}  // namespace adagp::study
