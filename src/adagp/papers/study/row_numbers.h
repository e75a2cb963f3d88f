#pragma once
// What a line of a study's output says in numbers.

#include <limits>
#include <string>

#include "adagp/papers/study/output.h"

namespace adagp::study {

// Whether the study's runs are forward passes alone.
bool inference(const Study& study);

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The numbers of a line, whichever mode.
struct Numbers {
  std::string design;
  int64_t cycles, vector, stall, total;
  accel::Energy energy;
  double seconds;
  double speedup = 1, energy_ratio = 1, memory_ratio = 1;
  // Of design max by the formulas; elsewhere NaN, because there is no second array or it is not
  // known what it does (machine "rtl").
  double second_busy = kNone;                                              // share of the cycles
  double second_utilisation = kNone;                                       // MACs / (PEs x cycles)
  double second_sram = kNone, second_dram = kNone, second_energy = kNone;  // words, words, J
};
Numbers numbers_of(const Study& study, const Row& row);

// Of the design: with its second array, where it has one.
int64_t pes_of(const Study& study, const Row& row);

}  // namespace adagp::study
