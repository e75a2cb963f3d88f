#include "adagp/engine/step/out_of_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/team.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::step {
namespace {

struct Trial {
  int64_t examples = 0;  // 0: not even one fits
  double bytes = 0;      // the step's own, at its peak
};

void forget(Session& s) {
  s.optimizer->clear_gradients();
  device::empty_cache(s.device);
}

// The largest power-of-two part of the batch that fits.
Trial try_parts(Session& s, const data::Batch& batch, const StepGraph::Step& step) {
  for (int64_t count = batch.size() / 2; count >= 1; count /= 2) {
    forget(s);
    device::reset_peak(s.device);
    const auto before = device::memory(s.device);
    try {
      step(batch.part(0, count));
      device::synchronise(s.device);
      return {count, static_cast<double>(device::memory(s.device).peak - before.allocated)};
    } catch (const c10::OutOfMemoryError&) {
      continue;
    }
  }
  return {};
}

std::string report(const Session& s, const std::string& phase, int64_t examples,
                   const Trial& trial) {
  const std::string begin =
      core::cat("out of GPU memory in a ", phase, " step of batch ", examples);
  const auto memory = device::memory(s.device);
  const double free = static_cast<double>(memory.free);
  const double each = trial.examples > 0 ? trial.bytes / static_cast<double>(trial.examples) : 0;
  // The allocator rounds up, and what did not fit once will not fit again.
  const double fits =
      each > 0 ? std::min(0.95 * free / each, static_cast<double>(examples - 1)) : 0;
  const auto largest = static_cast<int64_t>(fits);
  if (memory.total == 0 || largest < 1) {
    return core::cat(begin, ": not even one of the ", s.task->unit(), " fits into the ",
                     core::human_bytes(free),
                     " that are free; use a smaller network or --device cpu");
  }
  const std::string out =
      core::cat(begin, ": it needs about ", core::human_bytes(each * static_cast<double>(examples)),
                ", ", core::human_bytes(free), " are free beside weights and states; about ",
                largest, " ", s.task->unit(), " would fit: --batch ", largest);
  const int64_t parts = s.config.accumulate * ((examples + largest - 1) / largest);
  return out + core::cat(", or --set accumulate=", parts);
}

// What the process may have, as far as the system tells.
std::string memory_of_host() {
  constexpr std::pair<int, const char*> kLimits[] = {{RLIMIT_AS, "-v"}, {RLIMIT_DATA, "-d"}};
  for (const auto& [which, flag] : kLimits) {
    rlimit limit{};
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    return core::cat(", and the process may have ",
                     core::human_bytes(static_cast<double>(limit.rlim_cur)), " in all (ulimit ",
                     flag, ")");
  }
  const double free =
      static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return free > 0 ? ", and " + core::human_bytes(free) + " are free" : "";
}

// A host gives out more memory than it has and ends processes later, so trials would tell nothing.
std::string report_of_host(const Session& s, const std::string& phase, int64_t examples,
                           double bytes) {
  const std::string begin = core::cat(
      "out of memory in ", phase == "evaluation" ? "an " : "a ", phase, " step of batch ", examples,
      bytes > 0 ? ": " + core::human_bytes(bytes) + " more are needed" + memory_of_host() : "",
      "; ");
  if (examples <= 1) return begin + "use a smaller network or smaller images";
  if (phase == "evaluation") {
    return core::cat(begin, "use smaller batches, --set eval_batch=", examples / 2,
                     " or less, or a smaller network");
  }
  int64_t parts = 2 * s.config.accumulate;
  while (parts < examples && s.config.batch % parts != 0) parts += s.config.accumulate;
  const bool divides = s.config.batch % parts == 0;
  return core::cat(
      begin, "use a smaller batch, --batch ", examples / 2, " or less, ",
      divides ? core::cat("or micro-batches, --set accumulate=", parts, " or more, ") : "",
      "or a smaller network");
}

}  // namespace

StepResult run_in_memory(Session& s, const std::string& phase, const data::Batch& batch,
                         const StepGraph::Step& step, const std::function<StepResult()>& work) {
  try {
    return work();
  } catch (const c10::OutOfMemoryError&) {
    if (batch.empty()) throw;
    // Trials would need the other processes, which know nothing of it.
    if (!s.team->solo()) {
      throw Error(core::cat("out of GPU memory in a ", phase, " step of batch ", s.config.batch,
                            "; use more processes, --set accumulate=N or a smaller --batch"));
    }
  } catch (const std::exception& error) {
    const auto bytes = core::failed_allocation(error);
    if (!bytes || batch.empty()) throw;
    throw Error(report_of_host(s, phase, batch.size(), *bytes));
  }
  const int64_t examples = batch.size();
  const Trial trial = try_parts(s, batch, step);
  forget(s);
  throw Error(report(s, phase, examples, trial));
}

}  // namespace adagp::step
