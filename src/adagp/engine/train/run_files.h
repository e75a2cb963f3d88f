#pragma once
// Files of a run folder beside records and checkpoints.

#include "adagp/engine/method/probes.h"
#include "adagp/engine/run/checkpoint.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/engine/train/forecast.h"
#include "adagp/engine/train/totals.h"
#include "adagp/results/report/summary.h"

namespace adagp::train {

// Begins the folder's run: config.toml, environment, layers.csv, operations. `tables`: of all
// operations, by image side; may be empty. `data`: its fingerprint.
void begin_folder(run::RunFolder& folder, const step::Session& session,
                  const std::map<int64_t, layers::Table>& tables, const std::string& data);

// Throws DataError, naming what differs, when the checkpoint is of another run than `own`, or
// beyond the end of this one. It may be of a shorter run that can be extended to this one.
void refuse_foreign(const run::Snapshot& found, run::RunIdentity own, const Forecast& forecast);

// Extends the shorter run in the folder to this one. Throws UsageError when it cannot.
void extend(run::RunFolder& folder, const Forecast& forecast, bool has_checkpoint);

report::Summary summary_of(const step::Session& session, const RunTotals& totals,
                           const method::Probes& probes, double cost_epochs);

// The weights, with the metadata that an evaluation needs.
void write_weights(const core::fs::path& file, const step::Session& session);

}  // namespace adagp::train
