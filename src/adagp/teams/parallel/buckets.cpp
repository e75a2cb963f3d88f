#include "adagp/teams/parallel/buckets.h"

#include <functional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "adagp/teams/comm/flat_tensor.h"

namespace adagp::parallel {
namespace {

const at::Tensor& leaf_of(const optim::Param& param) {
  return param.bf16_copy.defined() && !param.value.grad().defined() ? param.bf16_copy : param.value;
}

}  // namespace

at::Tensor gradient_of(const optim::Param& param) {
  const at::Tensor& leaf = leaf_of(param);
  at::Tensor& gradient = leaf.mutable_grad();
  if (!gradient.defined()) gradient = at::zeros_like(leaf.detach());
  return gradient;
}

struct Buckets::Bucket {
  std::vector<size_t> params;
  int missing = 0;  // gradients still to come
  at::Tensor flat = {};
  std::unique_ptr<comm::Transfer> sent = {};
};

struct Buckets::State {
  comm::Group* group = nullptr;
  std::vector<optim::Param> params;
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes;  // a hook lives as long as its node
  std::vector<Bucket> buckets;
  std::vector<size_t> bucket_of;
  std::string doing;
  bool early = false;
  // All processes must send in one order, whatever order their gradients come in.
  size_t next = 0;

  void send(Bucket& bucket) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> parts;
    for (const size_t p : bucket.params) {
      parts.push_back(comm::row_of(gradient_of(params[p])).to(at::kFloat));
    }
    bucket.flat = at::cat(parts);
    bucket.sent = group->sum_later(bucket.flat, doing);
  }
  void ready(size_t param) {
    if (!early) return;
    --buckets[bucket_of[param]].missing;
    while (next < buckets.size() && buckets[next].missing == 0) send(buckets[next++]);
  }
};

namespace {

struct Arrived : torch::autograd::FunctionPostHook {
  std::function<void()> tell;
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    tell();
    return outputs;
  }
};

}  // namespace

Buckets::Buckets(comm::Group& group, const std::vector<optim::Param>& params, int64_t bytes)
    : state_(std::make_shared<State>()) {
  State& s = *state_;
  s.group = &group;
  s.params = params;
  s.bucket_of.resize(params.size());
  int64_t filled = bytes;
  for (size_t p = params.size(); p-- > 0;) {
    if (filled >= bytes) {
      s.buckets.emplace_back();
      filled = 0;
    }
    s.buckets.back().params.push_back(p);
    s.bucket_of[p] = s.buckets.size() - 1;
    filled += params[p].value.numel() * 4;

    const at::Tensor& leaf = params[p].bf16_copy.defined() ? params[p].bf16_copy : params[p].value;
    auto node = torch::autograd::impl::grad_accumulator(leaf);
    auto hook = std::make_unique<Arrived>();
    hook->tell = [state = std::weak_ptr<State>(state_), p] {
      if (const auto held = state.lock()) held->ready(p);
    };
    node->add_post_hook(std::move(hook));
    s.nodes.push_back(std::move(node));
  }
}

Buckets::~Buckets() = default;

int64_t Buckets::count() const {
  return std::ssize(state_->buckets);
}

void Buckets::begin(int uses, const std::string& doing) {
  State& s = *state_;
  s.doing = doing;
  s.early = uses > 0;
  s.next = 0;
  for (Bucket& bucket : s.buckets) {
    bucket.missing = uses * static_cast<int>(bucket.params.size());
  }
}

void Buckets::finish() {
  const at::NoGradGuard no_grad;
  State& s = *state_;
  s.early = false;
  while (s.next < s.buckets.size()) s.send(s.buckets[s.next++]);
  const auto processes = static_cast<double>(s.group->size());
  for (Bucket& bucket : s.buckets) {
    bucket.sent->wait();
    bucket.sent.reset();
    bucket.flat.div_(processes);
    int64_t offset = 0;
    for (const size_t p : bucket.params) {
      const at::Tensor gradient = gradient_of(s.params[p]);
      comm::put_row(bucket.flat.narrow(0, offset, gradient.numel()), gradient);
      offset += gradient.numel();
    }
    bucket.flat.reset();
  }
}

}  // namespace adagp::parallel
