#include "train_parallel.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/threads.h"
#include "adagp/engine/run/precision.h"
#include "adagp/engine/train/build.h"
#include "adagp/gpu/device/choose_device.h"
#include "adagp/teams/comm/launch.h"
#include "adagp/teams/comm/rank_info.h"
#include "adagp/teams/parallel/process_team.h"
#include "run_lines.h"

namespace adagp::apps {
namespace {

std::vector<std::string> command_line() {
  auto words = core::split(core::read_file("/proc/self/cmdline"), '\0');
  if (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

// Processes of one machine take its GPUs in turn. The configuration stays as it was given: another
// number of processes may go on with the run.
void choose_gpu(int local_rank) {
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (count == 0) return;
  const c10::impl::VirtualGuardImpl guard(at::kCUDA);
  guard.setDevice({at::kCUDA, static_cast<at::DeviceIndex>(local_rank % count)});
}

// Micro-batches are what `accumulate` says, so that one process can repeat the run.
void choose_micro_batches(config::RunConfig& config, const parallel::Spec& spec, int stages) {
  if (spec.pipeline == parallel::kDecoupled) return;
  if (spec.micro_batches > 0) config.accumulate = spec.micro_batches;
  if (spec.micro_batches == 0 && config.accumulate == 1 && stages > 1) config.accumulate = stages;
}

}  // namespace

std::string parallel_help() {
  return parallel::spec_help();
}

int train_parallel(config::RunConfig config, const ParallelRun& run) {
  const parallel::Spec spec = parallel::parse_spec(run.spec);
  if (spec.local > 0 && !comm::launched()) {
    // One message, not one from every process.
    train::check_names(config);
    core::check_thread_count("--parallel local", spec.local, "processes");
    const parallel::Shape shape = parallel::shape_of(spec, static_cast<int>(spec.local));
    choose_micro_batches(config, spec, shape.stages * static_cast<int>(spec.chunks));
    parallel::check_together(spec, shape, config);
    return comm::launch_local(command_line(), static_cast<int>(spec.local), spec.timeout + 5);
  }
  core::catch_signals();
  const comm::RankInfo info = comm::rank_from_environment();
  if (spec.local > 0 && spec.local != info.world) {
    throw UsageError(core::cat("--parallel local=", spec.local, ", but a launcher has started ",
                               info.world, " processes (WORLD_SIZE); leave local= out"));
  }
  const parallel::Shape shape = parallel::shape_of(spec, info.world);
  choose_gpu(info.local_rank);
  run::resolve_precision(config, info.rank == 0);
  choose_micro_batches(config, spec, shape.stages * static_cast<int>(spec.chunks));

  comm::GroupOptions options;
  options.backend = spec.backend;
  options.timeout = std::chrono::milliseconds(static_cast<int64_t>(spec.timeout * 1e3));
  auto world = comm::join(info, options, device::choose_device(config.device));
  const auto maker = [&](const config::RunConfig& resolved, const task::Task& task,
                         const std::shared_ptr<models::Net>& net) -> std::shared_ptr<step::Team> {
    return std::make_shared<parallel::ProcessTeam>(std::move(world), spec, resolved, task, *net);
  };
  const RunLines lines(run.folder, run.overwrite);
  if (info.rank == 0) lines.begin(config);
  const report::Summary summary = with_resume_advice(run.overwrite, kWithoutOverwrite, [&] {
    return train::train_together(config, run.folder, run.overwrite, maker);
  });
  if (info.rank > 0) return 0;
  core::print_result((run.json ? summary.to_json().dump(2) : report::one_line(summary)) + "\n",
                     run.json);
  lines.end();
  return 0;
}

}  // namespace adagp::apps
