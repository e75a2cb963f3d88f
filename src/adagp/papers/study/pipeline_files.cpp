#include "adagp/papers/study/pipeline_files.h"

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/sim/pipeline/chakra.h"
#include "adagp/sim/pipeline/chrome_trace.h"
#include "adagp/sim/pipeline/torch_schedule.h"

namespace adagp::study {
namespace {

constexpr int64_t kMostRanks = 4096;
constexpr int64_t kOpenRanks = 256;  // files at once; more are written one group after the other
constexpr size_t kTraceBuffer = 1 << 16;

void stop_if_asked() {
  if (const int signal = core::pending_signal(); signal != 0) {
    throw Interrupted("interrupted while writing traces", signal);
  }
}

// Of an earlier run that had more ranks: the reader would take them as part of this one.
void remove_others(int64_t ranks, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> others;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("pipeline.") || !name.ends_with(".et")) continue;
    long long rank = 0;
    const bool ours =
        name.size() > 12 && core::parse_integer(name.substr(9, name.size() - 12), rank);
    if (ours && rank >= ranks) others.push_back(entry.path());
  }
  for (const auto& path : others) std::filesystem::remove(path);
}

void write_ranks(const pipeline::Work& work, int64_t first, int64_t last,
                 const std::filesystem::path& folder) {
  std::vector<std::unique_ptr<core::AtomicFile>> files;
  for (int64_t rank = first; rank < last; ++rank) {
    files.push_back(
        std::make_unique<core::AtomicFile>(folder / core::cat("pipeline.", rank, ".et")));
  }
  pipeline::write_chakra(work, first, last, [&](int64_t rank, std::string_view bytes) {
    stop_if_asked();
    files[static_cast<size_t>(rank - first)]->write(bytes);
  });
  for (const auto& file : files) file->commit(core::Sync::kLater);
}

}  // namespace

const PipelineRun& only_run(const PipelineStudy& study, const std::string& flag) {
  if (study.runs.size() == 1) return study.runs[0];
  throw UsageError(core::cat("pipeline: ", flag, " is for one run, got ", study.runs.size()));
}

void save_schedule(const PipelineRun& run, const std::filesystem::path& file) {
  core::write_output(file, pipeline::torch_schedule(run.placement));
}

void save_chakra(const PipelineRun& run, const std::string& unit,
                 const std::filesystem::path& folder) {
  const pipeline::Work work{run.placement, sequence_costs(run), run.sequence, run.overlap, unit};
  const int64_t ranks = pipeline::chakra_ranks(work);
  if (ranks > kMostRanks) {
    throw UsageError(
        core::cat("pipeline: traces of ", ranks, " ranks, expected at most ", kMostRanks));
  }
  core::make_folder(folder);
  for (int64_t first = 0; first < ranks; first += kOpenRanks) {
    write_ranks(work, first, std::min(ranks, first + kOpenRanks), folder);
  }
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const auto& [name, members] : pipeline::chakra_groups(work)) groups[name] = members;
  const std::filesystem::path groups_file = folder / "comm_groups.json";
  if (!groups.empty()) core::write_file(groups_file, dump(groups, -1) + "\n");
  if (groups.empty()) std::filesystem::remove(groups_file);
  remove_others(ranks, folder);
}

void save_chrome(const PipelineRun& run, const std::filesystem::path& file) {
  core::AtomicFile out(core::behind_links(file));
  std::string buffer;
  const auto flush = [&] {
    stop_if_asked();
    out.write(buffer);
    buffer.clear();
  };
  pipeline::ChromeTrace trace([&](std::string_view text) {
    buffer += text;
    if (buffer.size() >= kTraceBuffer) flush();
  });
  pipeline::SimulateOptions options;
  options.overlap = run.overlap;
  options.on_event = [&](const pipeline::Event& event) { trace.add(event); };
  simulate(run.placement, sequence_costs(run), run.sequence, options);
  trace.end();
  flush();
  out.commit();
}

}  // namespace adagp::study
