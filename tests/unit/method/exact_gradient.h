#pragma once
// What a step of a method did to the weights, beside the gradient that autograd alone finds.

#include <map>
#include <string>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/engine/step/exact_step.h"
#include "unit/train/small.h"

namespace adagp::method::exact {

inline config::RunConfig plain(const std::string& method) {
  config::RunConfig c = small::config(method);
  c.optim.momentum = 0;
  c.optim.decay = 0;
  c.optim.lr = 1;  // a step is then minus the gradient
  return c;
}

using Values = std::map<std::string, at::Tensor>;

// Minus what each parameter moved by.
inline Values moved(const step::Session& s, const Values& before) {
  Values out;
  for (const auto& item : s.net->named_parameters()) {
    out[item.key()] = before.at(item.key()) - item.value().detach();
  }
  return out;
}

// The gradient of the weighted mean loss over these rows, by autograd alone.
inline Values slow_gradient(const config::RunConfig& c, const data::Batch& batch,
                            const at::Tensor& rows, const at::Tensor& weights = {}) {
  step::Session s = small::session(c);
  const auto logits = s.net->run({batch.images().index_select(0, rows)}).at(0);
  at::Tensor losses =
      at::cross_entropy_loss(logits, batch.labels().index_select(0, rows), {}, at::Reduction::None);
  if (weights.defined()) losses = losses * weights;
  losses.mean().backward();
  Values out;
  for (const auto& item : s.net->named_parameters()) out[item.key()] = item.value().grad().clone();
  return out;
}

inline void expect_near(const Values& got, const Values& expected, const std::string& what) {
  for (const auto& [name, value] : expected) {
    // Weights are of order 1 and a step of lr 1 rounds to their last place.
    EXPECT_TRUE(at::allclose(got.at(name), value, 1e-5, 1e-6))
        << what << " " << name << " differs by "
        << (got.at(name) - value).abs().max().item<float>();
  }
}

}  // namespace adagp::method::exact
