#include "adagp/engine/step/step_graph.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/team.h"

namespace adagp::step {
namespace {

// cuDNN chooses its algorithms in the first, lazily made buffers are all there after the second.
constexpr int kWarmUps = 2;
constexpr size_t kMostShapes = 64;

bool alike(const at::Tensor& a, const at::Tensor& b) {
  if (a.defined() != b.defined()) return false;
  return !a.defined() || (a.sizes() == b.sizes() && a.strides() == b.strides() &&
                          a.scalar_type() == b.scalar_type() && a.device() == b.device());
}

bool alike(const data::Tensors& a, const data::Tensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const at::Tensor& x, const at::Tensor& y) { return alike(x, y); });
}

// Everything of a batch that a step may read on the device.
data::Tensors tensors_of(const data::Batch& batch) {
  data::Tensors all = batch.inputs;
  all.insert(all.end(), batch.targets.begin(), batch.targets.end());
  all.push_back(batch.examples);
  all.push_back(batch.weights);
  return all;
}

void make_own(data::Batch& batch) {
  for (at::Tensor& x : batch.inputs) x = x.clone();
  for (at::Tensor& x : batch.targets) x = x.clone();
  if (batch.examples.defined()) batch.examples = batch.examples.clone();
  if (batch.weights.defined()) batch.weights = batch.weights.clone();
}

void copy(const data::Batch& from, const data::Batch& to) {
  const data::Tensors read = tensors_of(from), written = tensors_of(to);
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i].defined()) written[i].copy_(read[i]);
  }
}

}  // namespace

StepGraph::StepGraph(std::string name, bool enabled) : name_(std::move(name)) {
  if (enabled) return;
  state_ = State::kEager;
  reason_ = "graphs = false";
}

StepGraph::Recording* StepGraph::find(const Session& s, const data::Batch& batch) {
  const double weight = s.team->weight_of(batch);
  for (const auto& known : recordings_) {
    // The weight of a share is a constant of its recording.
    if (s.team->weight_of(known->inputs) != weight) continue;
    if (alike(tensors_of(batch), tensors_of(known->inputs))) return known.get();
  }
  if (recordings_.size() == kMostShapes) return nullptr;
  recordings_.push_back(std::make_unique<Recording>(Recording{batch}));
  return recordings_.back().get();
}

void StepGraph::record(Session& s, Recording& recording, const Step& step) {
  s.team->settle();  // capture() waits for the device
  make_own(recording.inputs);
  try {
    recording.graph.capture(s.device, [&] { recording.result = step(recording.inputs); });
    state_ = State::kReplay;
  } catch (const Error& error) {
    state_ = State::kEager;
    reason_ = error.what();
    recordings_.clear();
    s.optimizer->clear_gradients();
    core::log_warning(core::cat(name_, " steps run without a CUDA graph: ", reason_));
  }
}

StepResult StepGraph::run(Session& s, const data::Batch& batch, const Step& step) {
  s.check_intact();
  if (state_ == State::kWarmUp && !device::Graph::possible(s.device)) {
    state_ = State::kEager;
    reason_ = s.device.is_cpu() ? "no GPU" : "no CUDA kernels for this device";
  }
  if (state_ == State::kEager) return step(batch);
  Recording* known = find(s, batch);
  if (known == nullptr) return step(batch);
  if (!known->graph.captured()) {
    if (known->seen < kWarmUps) {
      ++known->seen;
      return step(batch);
    }
    record(s, *known, step);
    if (state_ == State::kEager) return step(batch);
  }
  copy(batch, known->inputs);
  known->graph.replay();
  return known->result;
}

}  // namespace adagp::step
