#include "adagp/teams/parallel/process_team.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/device/outside.h"
#include "adagp/teams/comm/throttled_group.h"

namespace adagp::parallel {
namespace {

using core::cat;

// For a stage in the middle of a pipeline: it counts batches and makes none.
class NoBatches : public data::BatchSource {
 public:
  explicit NoBatches(std::unique_ptr<data::BatchSource> counted) : counted_(std::move(counted)) {}

  int64_t batches_per_epoch() const override { return counted_->batches_per_epoch(); }
  void seek(int64_t epoch, int64_t position) override { counted_->seek(epoch, position); }
  void skip() override { counted_->skip(); }
  void only_part(int64_t, int64_t) override {}
  data::Batch next() override {
    counted_->skip();
    return {};
  }

 private:
  std::unique_ptr<data::BatchSource> counted_;
};

pipeline::Placement placement_for(const Spec& spec, const Shape& shape,
                                  const config::RunConfig& config) {
  pipeline::Request request;
  request.schedule = spec.pipeline.empty() ? "dapple" : spec.pipeline;
  request.devices = shape.stages;
  request.micro_batches = static_cast<int>(config.accumulate);
  request.chunks = static_cast<int>(spec.chunks);
  return pipeline::make_placement(request);
}

}  // namespace

void check_together(const Spec& spec, const Shape& shape, const config::RunConfig& config) {
  const int64_t parts = shape.copies * config.accumulate;
  if (config.batch % parts != 0) {
    throw UsageError(cat("batch = ", config.batch, " cannot be divided by ", shape.copies,
                         " copies x ", config.accumulate, " micro-batches = ", parts));
  }
  if (const std::string asked = compressor_of(config); !asked.empty() && shape.copies == 1) {
    throw UsageError(cat(asked,
                         ": copies of the network exchange gradients, and there is 1 copy; add "
                         "'data' to --parallel and start 2 copies or more"));
  }
  if (config.head == "exact" && spec.pipeline == "chimera") {
    throw UsageError("head = exact cannot run with chimera, whose two heads see half a batch each");
  }
}

ProcessTeam::ProcessTeam(std::unique_ptr<comm::Group> world, const Spec& spec,
                         const config::RunConfig& config, const task::Task& task, models::Net& net)
    : spec_(spec), shape_(shape_of(spec, world->size())), world_(std::move(world)) {
  shake_hands(config, task, net);
  check_together(spec_, shape_, config);
  placement_ = placement_for(spec_, shape_, config);
  if (placement_.stages > 1 && models::has_frozen_blocks(net)) {
    throw UsageError(cat("--parallel: ", config.model.name,
                         " has frozen blocks, and a stage of them alone has nothing to train; use "
                         "data in place of pipeline"));
  }
  stages_ = layers::cut(net, config.model.name, task.input_name(config), placement_.stages);
  if (config.head == "exact" && placement_.stages > 1) {
    for (const std::string& head : net.heads()) {
      if (stages_.names.back().contains(head + ".weight")) continue;
      throw UsageError(cat("head = exact: ", head,
                           " is not in the last stage of the pipeline, where the loss is; use "
                           "head = predicted or fewer stages"));
    }
  }
  copy_ = world_->rank() / shape_.stages;
  device_ = world_->rank() % shape_.stages;
  if (shape_.stages > 1) pipe_ = world_->split(copy_, "pipe");
  if (spec_.data || shape_.copies > 1) {
    copies_ = comm::throttled(world_->split(device_, "copies"),
                              {spec_.copy_bandwidth, spec_.copy_latency});
  }
  if (placement_.replicas > 1) {
    pair_ = pipe_->split(std::min(device_, shape_.stages - 1 - device_), cat("pair", copy_));
  }
  compressed_ = compressor_of(config);
  signals_ = std::make_unique<SignalVote>(*world_);
  norms_.processes = shape_.copies;
  norms_.sum = [this](at::Tensor& values) {
    std::vector<at::Tensor> one{values};
    copies_->sum(one, doing("statistics of norms"));
  };
  executor_ = std::make_unique<Executor>(
      placement_, stages_, pipe_.get(), device_,
      Executor::Options{spec_.recompute, copy_ == 0 ? spec_.timings : ""});
  for (const int stage : executor_->stages()) {
    own_.insert(stages_.names[static_cast<size_t>(stage)].begin(),
                stages_.names[static_cast<size_t>(stage)].end());
  }
  for (const auto& item : net.named_parameters()) {
    if (!own_.contains(item.key())) elsewhere_.insert(item.key());
  }
  tie(net);
  if (leads()) core::log_info(describe());
}

void ProcessTeam::tie(const models::Net& net) {
  for (const auto& item : net.named_parameters()) {
    const std::string& name = item.key();
    const auto users = std::count_if(stages_.names.begin(), stages_.names.end(),
                                     [&](const auto& names) { return names.contains(name); });
    if (users < 2) continue;
    auto group = pipe_->split(owns(name) ? 0 : 1, cat("tied", copy_, ".", tied_.size()));
    if (!owns(name) || group->size() == 1) group.reset();
    tied_.push_back({name, std::move(group)});
  }
}

bool ProcessTeam::counts(const std::string& name) const {
  const auto user = std::find_if(stages_.names.begin(), stages_.names.end(),
                                 [&](const auto& names) { return names.contains(name); });
  const auto& mine = executor_->stages();
  return std::find(mine.begin(), mine.end(), user - stages_.names.begin()) != mine.end();
}

std::string ProcessTeam::describe() const {
  std::string text = cat(world_->size(), world_->size() == 1 ? " process" : " processes", " (",
                         world_->backend(), "): ");
  if (shape_.copies > 1 || shape_.stages == 1) {
    text += cat(shape_.copies, shape_.copies == 1 ? " copy of " : " copies of ");
  }
  if (shape_.stages == 1) return text + "the network";
  text += cat("a pipeline of ", shape_.stages, " devices, ", placement_.schedule, ", ",
              placement_.micro_batches, " micro-batches; GMACs by stage");
  for (const double macs : stages_.macs) text += " " + core::fixed(macs / 1e9, 3);
  return text;
}

std::unique_ptr<data::BatchSource> ProcessTeam::share(std::unique_ptr<data::BatchSource> whole) {
  if (!executor_->needs_batches()) return std::make_unique<NoBatches>(std::move(whole));
  if (shape_.copies > 1) whole->only_part(copy_, shape_.copies);
  return whole;
}

std::string ProcessTeam::doing(const char* what) const {
  return cat(what, " of batch ", batches_);
}

step::StepResult ProcessTeam::backprop(step::Session& session, const data::Batch& batch,
                                       bool tapped) {
  take_shares(session, batch);
  begin_gradients(session);
  const nn::NormSyncScope norms(synced());
  step::StepResult result = executor_->run(session, batch, pipeline::Phase::kBackprop, tapped);
  join_gradients(session);
  if (tapped) join_summaries(session, true);
  device::outside([this] { ++batches_; });
  return result;
}

step::StepResult ProcessTeam::forward(step::Session& session, const data::Batch& batch) {
  take_shares(session, batch);
  const nn::NormSyncScope norms(synced());
  step::StepResult result = executor_->run(session, batch, pipeline::Phase::kPredict, true);
  join_summaries(session, spec_.predict == "summaries");
  device::outside([this] { ++batches_; });
  return result;
}

task::RunningMetrics::Values ProcessTeam::sum(const task::RunningMetrics::Values& v) {
  std::vector<at::Tensor> all{at::tensor({v.loss_sum, v.first, v.five, v.count}, at::kDouble)};
  world_->sum(all, doing("running figures"));
  const auto* s = all[0].const_data_ptr<double>();
  return {s[0], s[1], s[2], s[3]};
}

void ProcessTeam::settle() {
  world_->settle(cat("work of the GPU before batch ", batches_));
}

void ProcessTeam::wait_for_leader() {
  world_->wait_for(0, "waiting for the leader");
}

int ProcessTeam::agree(int signal, bool now) {
  return signals_->ask(signal, now, doing("signals"));
}

std::string ProcessTeam::unrecorded() const {
  if (!spec_.pipeline.empty()) return "a pipeline sends and receives within its passes";
  if (synced() != nullptr) return "sync-norm exchanges statistics within the passes";
  return compressed_.empty() ? "" : compressed_ + " is not made for recordings";
}

void ProcessTeam::fail(const std::string& why) noexcept {
  world_->tell_failure(why);
}

}  // namespace adagp::parallel
