#pragma once
// The first and the last line of `adagp train` about its run.

#include <optional>
#include <string>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::apps {

class RunLines {
 public:
  RunLines(std::string folder, bool overwrite)
      : folder_(std::move(folder)), finished_(overwrite ? std::nullopt : end_of_run()) {}

  // A bare `adagp train` trains the defaults: say which.
  void begin(const config::RunConfig& config) const {
    if (finished_) return;
    core::log_info(core::cat("training ", config.model.name, " on ", config.data.name, " by ",
                             config.method, ", ", config.epochs,
                             config.epochs == 1 ? " epoch" : " epochs", ", seed ", config.seed,
                             ", run folder ", folder_));
  }
  void end() const {
    const bool nothing_new = finished_ && end_of_run() == finished_;
    core::log_info(core::cat("run folder: ", folder_,
                             nothing_new ? " (finished before; --overwrite trains again)" : ""));
  }

 private:
  std::optional<core::fs::file_time_type> end_of_run() const {
    std::error_code none;
    const auto time = core::fs::last_write_time(core::fs::path(folder_) / "summary.json", none);
    return none ? std::nullopt : std::optional(time);
  }

  std::string folder_;
  std::optional<core::fs::file_time_type> finished_;  // a run that was there before
};

// What to do after Ctrl-C: the library says where it saved, the command knows how to go on.

inline constexpr const char* kWithoutOverwrite =
    "the same command without --overwrite goes on from there";

// Runs `work`; to its Interrupted it adds how the command goes on.
template <typename Work>
auto with_resume_advice(bool overwrite, const char* without_overwrite, Work work) {
  try {
    return work();
  } catch (const Interrupted& error) {
    constexpr int kSignalCode = 128;
    throw Interrupted(std::string(error.what()) + "; " +
                          (overwrite ? without_overwrite : "the same command goes on from there"),
                      error.exit_code() - kSignalCode);
  }
}

}  // namespace adagp::apps
