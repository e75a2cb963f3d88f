#pragma once
// What the batches of a run are to the hardware that computes them: counted by the trainer, or
// foreseen from a configuration. No torch here.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/base/plan/image_sizes.h"
#include "adagp/base/schedule/schedule.h"

namespace adagp::plan {

enum class Work {
  kBackprop,  // forward, backward, update
  kLearn,     // the same, and the predictor learns
  kPredict,   // forward, and an update by predicted gradients
  kUpdate,    // an update by a gradient that is already there
  kNothing,
  kOther,  // of a method that this table does not know
};
const char* name_of(Work work);

// Batches that cost the same.
struct BatchGroup {
  Work work = Work::kBackprop;
  int64_t image_side = 0;   // 0: as the data is
  int64_t examples = 0;     // of a batch
  int64_t frozen_rows = 0;  // first rows of the layer table (with all operations) that run forward
                            // alone
  auto operator<=>(const BatchGroup&) const = default;  // NOLINT(modernize-use-nullptr)
};
using BatchCounts = std::map<BatchGroup, int64_t>;

// A list of objects with `work`, `image_side`, `examples`, `frozen_rows` and `batches`.
nlohmann::json to_json(const BatchCounts& counts);
// Throws DataError naming the entry.
BatchCounts batch_counts(const nlohmann::json& list);

// What a batch of config.method does.
Work work_of(const config::RunConfig& config, schedule::Phase phase);

// The batches of a run of config.method, as far as can be said before it. `rows_of` tells how many
// rows of the layer table so many blocks are. Throws UsageError for methods whose batches do not
// follow from the configuration, with those that do.
BatchCounts planned_batches(const config::RunConfig& config, const ImageSet& images,
                            const std::function<int64_t(int64_t blocks)>& rows_of);

}  // namespace adagp::plan
