#pragma once
// What a run folder tells (docs/run-folder.md), also of a run that goes on, was killed, or was
// written by Python. What cannot be read is left out and named, so that one bad file does not hide
// the others.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adagp/base/core/files.h"
#include "adagp/results/report/summary.h"
#include "adagp/results/report/table.h"

namespace adagp::report {

// The end of an epoch. NaN where a number is missing.
struct EpochRecord {
  int64_t epoch = 0, step = 0;
  double seconds = 0;   // of training so far
  double cost = 0;      // counted, in epochs of backprop
  double examples = 0;  // so far
  // Parts of the seconds: waiting for data, BP batches, GP batches; NaN where they are not
  // recorded.
  double data_seconds = 0, bp_seconds = 0, gp_seconds = 0;
  std::map<std::string, double> figures;  // "test_top1", "train_loss", "cosine", ...
};

// Quality of predicted gradients, by layer.
enum class Probe {
  kCosine = 0,
  kRelativeError = 1,
  kNormRatio = 2,
  kMse = 4,
  kMape = 5,
  kQ = 6,
  kBias = 7
};
struct ProbeRecord {
  int64_t step = 0;
  std::vector<std::array<double, 8>> layers;  // as metrics.jsonl has them
  double predictor_loss = 0;                  // NaN when the record has none

  double at(size_t layer, Probe figure) const { return layers[layer][static_cast<size_t>(figure)]; }
};

// What method auto decided.
struct DecisionRecord {
  int64_t step = 0, tried = 0, used_k = 0, pairs = 0;
  std::string what, candidate;
  double rate = 0, bp_rate = 0, low = 0;
};

struct Metrics {
  std::vector<EpochRecord> epochs;
  std::vector<ProbeRecord> probes;  // at most as many as asked for, evenly over the run
  std::vector<DecisionRecord> decisions;
  int64_t last_step = 0;
  double last_loss = 0;            // of the last "train" record, NaN without one
  std::vector<std::string> notes;  // lines that are no records
};
// Reads the text of metrics.jsonl. A last line without its end is a record that is being written.
Metrics parse_metrics(std::string_view text, const std::string& name, size_t most_probes = 40);

struct RunFiles {
  core::fs::path folder;
  std::string name;                                // of the folder
  std::map<std::string, std::string> config;       // "optim.lr": "0.05", strings in quotes
  std::map<std::string, std::string> environment;  // values as text
  std::vector<std::string> layers;                 // names, from layers.csv
  std::optional<Summary> summary;                  // of a finished run
  Metrics metrics;
  double age = 0;                  // seconds since metrics.jsonl changed; NaN without one
  std::vector<std::string> notes;  // what could not be read, a sentence each

  bool finished() const { return summary.has_value(); }
  // Of the configuration, without quotes; "" when it is not there. The first key that is.
  std::string setting(std::initializer_list<const char*> keys) const;
  int64_t number(const char* key) const;  // 0 when it is not there
  std::string method() const, model() const, data() const;
  int64_t seed() const, epochs() const, batch() const;
};

// Whether the folder has one of a run's files.
bool is_run_folder(const core::fs::path& folder);
// Throws nothing but what a full memory throws; see `notes`.
RunFiles read_run(const core::fs::path& folder);
// The run folders in a folder, by name; numbers in names count as numbers.
std::vector<core::fs::path> run_folders_in(const core::fs::path& folder);

// What a run's metrics.jsonl says by epoch: seconds, losses, and the predictor's
// error by layer.

// A layer's probe: h is the predicted gradient, g the true one.
struct LayerProbe {
  double cosine = 0;
  double mse = 0;             // mean (h - g)^2
  double mape = 0;            // mean |h - g| / |g| in percent
  double relative_error = 0;  // |h - g| / |g|: its square is the MSE over mean(g^2)
};

struct EpochHistory {
  int64_t epoch = 0;
  double seconds = 0;  // of training, of this epoch alone
  double train_loss = 0, test_loss = 0;
  std::optional<double> predictor_loss;  // with that probe
  std::vector<LayerProbe> layers;        // the last probe of the epoch; empty: none
};

// Epochs that are complete, in their order; what is missing is NaN. Throws DataError for a line
// that is no record.
std::vector<EpochHistory> read_history(const core::fs::path& metrics);

// Seconds of training that are left, by the mean seconds of the epochs so far; NaN when nothing
// tells it.
double seconds_left(const RunFiles& run);

// A row for each unfinished run: epoch, last score, seconds, time left, age of its last record.
Table progress_table(const std::vector<RunFiles>& runs);

}  // namespace adagp::report
