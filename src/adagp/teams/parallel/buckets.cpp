#include "adagp/teams/parallel/buckets.h"

#include <map>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "adagp/gpu/device/memory_order.h"
#include "adagp/gpu/device/outside.h"
#include "adagp/teams/comm/flat_tensor.h"

namespace adagp::parallel {
namespace {

// Kernels read gradients 16 bytes at a time.
constexpr int64_t kAligned = 4;

const at::Tensor& leaf_of(const optim::Param& param) {
  return param.bf16_copy.defined() && !param.value.grad().defined() ? param.bf16_copy : param.value;
}

int64_t room_for(const at::Tensor& value) {
  return (value.numel() + kAligned - 1) / kAligned * kAligned;
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
  int missing = 0;                     // gradients still to come
  at::Tensor flat = {};                // all its gradients, in fp32
  std::vector<at::Tensor> views = {};  // of each of them, laid out as its parameter
  std::unique_ptr<comm::Transfer> sent = {};
};

struct Buckets::State {
  comm::Group* group = nullptr;
  std::vector<optim::Param> params;
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes;  // a hook lives as long as its node
  std::vector<Bucket> buckets;
  std::vector<size_t> bucket_of;
  Doing doing;
  bool early = false;
  // All processes must send in one order, whatever order their gradients come in.
  size_t next = 0;

  void make_room(Bucket& bucket) {
    int64_t length = 0;
    for (const size_t p : bucket.params) length += room_for(params[p].value);
    bucket.flat = at::zeros({length}, params[bucket.params[0]].value.options().dtype(at::kFloat));
    int64_t offset = 0;
    for (const size_t p : bucket.params) {
      const at::Tensor& value = params[p].value;
      const at::Tensor row = bucket.flat.narrow(0, offset, value.numel());
      bucket.views.push_back(value.is_non_overlapping_and_dense()
                                 ? row.as_strided(value.sizes(), value.strides())
                                 : row.view(value.sizes()));
      offset += room_for(value);
    }
  }

  // In few launches on a GPU: one for each type, where memory lies alike.
  void pack(Bucket& bucket) {
    const at::NoGradGuard no_grad;
    std::map<at::ScalarType, std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>>> copies;
    for (size_t i = 0; i < bucket.params.size(); ++i) {
      const at::Tensor& view = bucket.views[i];
      const at::Tensor& gradient = leaf_of(params[bucket.params[i]]).grad();
      if (!gradient.defined()) {
        view.zero_();
      } else if (gradient.is_non_overlapping_and_dense() && device::same_order(gradient, view)) {
        auto& [to, from] = copies[gradient.scalar_type()];
        to.push_back(comm::row_of(view));
        from.push_back(comm::row_of(gradient));
      } else {
        view.copy_(gradient);
      }
    }
    for (auto& [type, rows] : copies) at::_foreach_copy_(rows.first, rows.second);
  }
  void send(Bucket& bucket, bool beside) {
    bucket.sent = group->mean_later(bucket.flat, doing(), beside);
  }
  void ready(size_t param) {
    if (!early) return;
    --buckets[bucket_of[param]].missing;
    for (; next < buckets.size() && buckets[next].missing == 0; ++next) {
      pack(buckets[next]);
      send(buckets[next], true);
    }
  }
  void hand_out(const Bucket& bucket) {
    for (size_t i = 0; i < bucket.params.size(); ++i) {
      const optim::Param& param = params[bucket.params[i]];
      if (param.value.scalar_type() == at::kFloat) {
        param.value.mutable_grad() = bucket.views[i];
        if (param.bf16_copy.defined()) param.bf16_copy.mutable_grad().reset();
      } else {
        gradient_of(param).copy_(bucket.views[i]);
      }
    }
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
  for (Bucket& bucket : s.buckets) s.make_room(bucket);
}

Buckets::~Buckets() = default;

int64_t Buckets::count() const {
  return std::ssize(state_->buckets);
}

void Buckets::begin(int uses, Doing doing) {
  State& s = *state_;
  s.doing = std::move(doing);
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
  for (size_t b = s.next; b < s.buckets.size(); ++b) s.pack(s.buckets[b]);
  device::outside([state = state_, left = s.next] {
    auto& buckets = state->buckets;
    for (size_t b = left; b < buckets.size(); ++b) state->send(buckets[b], false);
    for (Bucket& bucket : buckets) {
      bucket.sent->wait();
      bucket.sent.reset();
    }
  });
  for (const Bucket& bucket : s.buckets) s.hand_out(bucket);
}

}  // namespace adagp::parallel
