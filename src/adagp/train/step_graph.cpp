#include "adagp/train/step_graph.h"

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"

namespace adagp::train {
namespace {

// cuDNN chooses its algorithms in the first, lazily made buffers are all there after the second.
constexpr int kWarmUps = 2;

bool alike(const at::Tensor& a, const at::Tensor& b) {
  if (a.defined() != b.defined()) return false;
  return !a.defined() || (a.sizes() == b.sizes() && a.strides() == b.strides() &&
                          a.scalar_type() == b.scalar_type() && a.device() == b.device());
}

at::Tensor own_copy(const at::Tensor& x) {
  return x.defined() ? x.clone() : x;
}

}  // namespace

StepGraph::StepGraph(std::string name, bool enabled) : name_(std::move(name)) {
  if (enabled) return;
  state_ = State::kEager;
  reason_ = "graphs = false";
}

bool StepGraph::fits(const data::Batch& batch) const {
  return alike(batch.images, inputs_.images) && alike(batch.labels, inputs_.labels);
}

void StepGraph::record(Session& s, const data::Batch& batch, const Step& step) {
  inputs_.images = own_copy(batch.images);
  inputs_.labels = own_copy(batch.labels);
  try {
    graph_.capture(s.device, [&] { result_ = step(inputs_); });
    state_ = State::kReplay;
  } catch (const Error& error) {
    state_ = State::kEager;
    reason_ = error.what();
    result_ = {};
    inputs_ = {};
    s.optimizer->clear_gradients();
    core::log_warning(core::cat(name_, " steps run without a CUDA graph: ", reason_));
  }
}

StepResult StepGraph::run(Session& s, const data::Batch& batch, const Step& step) {
  if (state_ == State::kWarmUp) {
    if (!device::Graph::possible(s.device)) {
      state_ = State::kEager;
      reason_ = s.device.is_cpu() ? "no GPU" : "no CUDA kernels for this device";
    } else if (warm_ups_ == kWarmUps) {
      record(s, batch, step);
    } else {
      ++warm_ups_;
    }
  }
  if (state_ != State::kReplay || !fits(batch)) return step(batch);
  if (batch.images.defined()) {
    inputs_.images.copy_(batch.images);
    inputs_.labels.copy_(batch.labels);
  }
  graph_.replay();
  return result_;
}

}  // namespace adagp::train
