// adagp reproduce RUN: a finished run made again, and whether the result is the same.

#include "adagp/lab/experiment/rerun.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/output.h"
#include "commands.h"

namespace adagp::apps {
namespace {

// "runs/a-rerun" for "runs/a", "runs/a/" and, called in it, ".".
core::fs::path beside(const core::fs::path& run) {
  core::fs::path folder = run;
  if (!folder.has_filename()) folder = folder.parent_path();  // "runs/a/"
  if (folder.filename() == "." || folder.filename() == "..") {
    std::error_code error;
    folder = core::fs::canonical(folder, error);
    if (error) throw DataError(run.string() + ": cannot be opened: " + error.message());
  }
  return folder.string() + "-rerun";
}

}  // namespace

int run_rerun(const std::string& run, const std::string& output, bool json) {
  core::catch_signals();
  const auto result = experiment::rerun(run, output.empty() ? beside(run) : core::fs::path(output));
  core::print_result(json ? result.to_json().dump(2) + "\n" : result.text(), json);
  return result.as_expected() ? 0 : 1;
}

}  // namespace adagp::apps
