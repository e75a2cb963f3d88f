#include "adagp/papers/study/machine_flags.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/summary.h"
#include "adagp/sim/arrays/given.h"

namespace adagp::study {
namespace {

// A method that samples decides what it leaves out; zeros of a run say nothing about it.
void check_shares(const arrays::Machine& machine, const MachineOptions& options, int given) {
  if (given != 1 || options.sparsity.empty()) {
    throw UsageError(std::string("machine '") + machine.name +
                     "' needs --sparsity dy=0.5, the share that is left out, and no --trace or "
                     "--bits");
  }
  const arrays::Sparsity shares = arrays::parse_sparsity(options.sparsity);
  const bool examples = &machine == &arrays::kSampledExamples;
  if (shares.w > 0 || (shares.x > 0 && !examples)) {
    throw UsageError(core::cat("--sparsity ", options.sparsity, ": machine '", machine.name,
                               "' leaves out parts of ", examples ? "dy and x" : "dy", " alone"));
  }
}

}  // namespace

void check_flags(const arrays::Machine& machine, const MachineOptions& options) {
  const int given = !options.trace.empty() + !options.sparsity.empty() + !options.bits.empty();
  const std::string name = machine.name;
  if (machine.reads == arrays::Reads::kNothing) {
    if (given > 0) {
      throw UsageError("machine '" + name +
                       "' looks at shapes alone: leave out --trace, --sparsity and --bits");
    }
    return;
  }
  if (machine.reads == arrays::Reads::kShares) return check_shares(machine, options, given);
  const bool zeros = machine.reads == arrays::Reads::kZeros;
  const std::string expected =
      zeros ? "--trace RUN or --sparsity x=0.5,dy=0,w=0.9" : "--trace RUN or --bits w=2,a=2,g=4";
  const bool wrong = zeros ? !options.bits.empty() : !options.sparsity.empty();
  if (given != 1 || wrong) {
    throw UsageError("machine '" + name + "' needs one of " + expected);
  }
}

void take_network_of_trace(const std::string& run, const arrays::Trace& trace, Options& options) {
  if (!options.models.empty() || !options.table.empty() || !options.exported().empty() ||
      !options.topology.empty() || !options.tables.empty()) {
    if (!options.models.empty() && options.models != trace.network) {
      throw DataError(core::cat(trace.file, ": is a trace of '", trace.network,
                                "', not of --model '", options.models, "'"));
    }
    return;
  }
  const core::fs::path table = core::fs::path(run) / "layers.csv";
  if (core::fs::exists(table)) {
    options.table = table.string();
  } else {
    options.models = trace.network;
    options.inputs = trace.input;
  }
  if (options.batches.empty()) options.batches = std::to_string(trace.batch);
  const core::fs::path summary = core::fs::path(run) / "summary.json";
  if (!options.examples && core::fs::exists(summary)) {
    const int64_t examples = report::Summary::read(summary).conditions.train_examples;
    if (examples > 0) options.examples = examples;
  }
}

}  // namespace adagp::study
