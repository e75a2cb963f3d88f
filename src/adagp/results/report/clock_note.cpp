#include "adagp/results/report/clock_note.h"

#include "adagp/base/core/text.h"

namespace adagp::report {

std::string clock_note(const std::string& what, double least, double most) {
  constexpr double kQuiet = 1.1;
  if (!(most > kQuiet * least)) return "";
  return core::cat(what, " takes ", core::fixed(least, 2), " to ", core::fixed(most, 2),
                   " s. The machine was busy with other things, or the runs are too short to time: "
                   "do not trust what is said of seconds.");
}

std::string hardware_note(const std::vector<std::string>& hardware) {
  if (hardware.size() < 2) return "";
  return "The runs were on unlike devices (" + core::join(hardware, "; ") +
         "), whose seconds are not compared.";
}

}  // namespace adagp::report
