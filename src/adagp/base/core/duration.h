#pragma once
// Lengths of training with their unit: "90ep", "500ba", "0.5ep".

#include <cstdint>
#include <string>

namespace adagp::core {

struct Duration {
  enum class Unit { kEpochs, kBatches };
  double value = 0;
  Unit unit = Unit::kEpochs;

  // Throws UsageError with the text and an example when it is not a duration.
  static Duration parse(const std::string& text);
  int64_t batches(int64_t batches_per_epoch) const;  // rounded, at least 0
};

}  // namespace adagp::core
