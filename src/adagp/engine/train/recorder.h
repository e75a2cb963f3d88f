#pragma once
// What a run tells: progress lines on stderr, metrics.jsonl, TensorBoard events.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adagp/base/core/progress.h"
#include "adagp/base/io/events.h"
#include "adagp/base/io/jsonl.h"
#include "adagp/engine/method/probes.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/engine/step/session.h"
#include "adagp/engine/train/totals.h"

namespace adagp::train {

// A process without a folder records nothing.
class Recorder {
 public:
  // Records follow batch `step`; records of later batches from an interrupted process are removed.
  void open(const run::RunFolder& folder, int64_t step);
  bool is_open() const { return records_ != nullptr; }

  // How far the run is, for the progress line.
  struct Progress {
    double share = 0;
    std::string time_left;  // " left 3m 20s" or nothing
  };

  // Some batches of an epoch.
  struct Interval {
    BatchPosition last;            // the last of them
    int64_t batches_of_epoch = 0;  // in its epoch
    task::RunningMetrics::Values seen;
    double seconds_per_batch = 0, examples_per_second = 0;
    schedule::Phase phase = schedule::Phase::kBackprop;
  };
  void interval(const Interval& interval, const step::Session& session,
                const method::Probes& probes, const RunTotals& totals, const Progress& progress);

  // An epoch and the evaluation at its end.
  struct Epoch {
    int64_t epoch = 0, epochs = 0;
    double train_loss = 0, cost_epochs = 0;
    std::string metric;  // that runs are compared by
    std::optional<double> held_out_loss = {};
  };
  void epoch(const Epoch& epoch, const method::Probes& probes, const RunTotals& totals,
             const Progress& progress);

  // Records of a method that decides on the way.
  void decisions(const std::vector<nlohmann::json>& made, int64_t step);

  void flush();
  void clear_line() { progress_.clear(); }

 private:
  std::unique_ptr<io::JsonlWriter> records_;
  std::unique_ptr<io::EventWriter> events_;
  core::Progress progress_{0.0};
};

}  // namespace adagp::train
