#include "adagp/papers/study/pipeline_requests.h"

#include "adagp/base/core/files.h"
#include "adagp/base/core/lookup.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/sim/pipeline/torch_schedule.h"

namespace adagp::study {
namespace {

constexpr int64_t kMostStages = 4096, kMostMicroBatches = 65536;
constexpr double kLeastShare = 1e-3;

std::vector<std::string> schedule_names(const std::string& text) {
  return text == "all" ? core::names_of(pipeline::schedules()) : parse_names(text, "--schedule");
}

void check_shape(const PipelineOptions& options) {
  if (options.chunks < 0) {
    throw UsageError(core::cat("--chunks is ", options.chunks, ", expected 1 or more"));
  }
  for (const auto& [flag, share] :
       {std::pair{"--gp-share", options.gp_share}, {"--low-share", options.low_share}}) {
    if (share >= kLeastShare && share <= 1) continue;
    throw UsageError(core::cat(flag, " ", share, ", expected ", kLeastShare, " to 1"));
  }
  const bool shaped = !options.stages.empty() || !options.micro_batches.empty() ||
                      options.chunks > 0 || options.sweep;
  if (!options.schedule_file.empty() && shaped) {
    throw UsageError(
        "--schedule-file says how many stages, micro-batches and chunks there are: leave --stages, "
        "--micro-batches, --chunks and --sweep out");
  }
}

pipeline::Request request_of_file(const PipelineOptions& options) {
  const std::string& file = options.schedule_file;
  pipeline::Request request = pipeline::parse_torch_schedule(core::read_file(file), file);
  request.gp_share = options.gp_share;
  request.low_share = options.low_share;
  return request;
}

}  // namespace

std::vector<pipeline::Request> pipeline_requests(const PipelineOptions& options) {
  check_shape(options);
  if (!options.schedule_file.empty()) return {request_of_file(options)};
  pipeline::Request request;
  const auto numbers = [&](const std::string& text, const char* swept, const char* flag,
                           int64_t most) {
    return parse_numbers(!text.empty() ? text : options.sweep ? swept : "4", flag, most);
  };
  const auto stages = numbers(options.stages, "2..16*2", "--stages", kMostStages);
  const auto micro =
      numbers(options.micro_batches, "4..64*2", "--micro-batches", kMostMicroBatches);
  const auto names = schedule_names(options.schedules);
  if (names.size() * stages.size() * micro.size() > kMostRuns) {
    throw UsageError(core::cat("pipeline: ", names.size() * stages.size() * micro.size(),
                               " combinations, expected at most ", kMostRuns));
  }
  request.chunks = options.chunks;
  request.gp_share = options.gp_share;
  request.low_share = options.low_share;
  std::vector<pipeline::Request> requests;
  for (const std::string& name : names) {
    request.schedule = pipeline::find_schedule(name).name;
    for (const int64_t devices : stages) {
      request.devices = static_cast<int>(devices);
      for (const int64_t parts : micro) {
        request.micro_batches = static_cast<int>(parts);
        requests.push_back(request);
      }
    }
  }
  return requests;
}

}  // namespace adagp::study
