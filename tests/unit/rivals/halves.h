#pragma once
// A small network in two modules, as tests of their signals need it.

#include <set>

#include "adagp/engine/layers/stages.h"
#include "adagp/rivals/options/options.h"
#include "unit/train/small.h"

namespace adagp::small {

using Values = std::map<std::string, at::Tensor>;

inline config::RunConfig modules_config(const std::string& signal, int64_t count) {
  config::RunConfig c = small::config("modules");
  c.parts.get<rivals::ModulesOptions>().signal = signal;
  c.parts.get<rivals::ModulesOptions>().count = count;
  return c;
}

inline config::RunConfig plain_modules(const std::string& signal) {
  config::RunConfig c = modules_config(signal, 2);
  c.optim.momentum = 0;
  c.optim.decay = 0;
  c.optim.lr = 0.5;
  return c;
}

struct Halves {
  std::vector<models::Block> lower, upper;
  std::set<std::string> lower_names;
};

inline Halves halves(step::Session& s) {
  auto& net = dynamic_cast<models::BlockNet&>(*s.net);
  const auto stages = layers::cut(net, s.config.model.name, s.task->input_name(s.config), 2);
  const auto middle = net.blocks().begin() + static_cast<std::ptrdiff_t>(stages.first[1]);
  return {{net.blocks().begin(), middle}, {middle, net.blocks().end()}, stages.names[0]};
}

inline at::Tensor run_all(const std::vector<models::Block>& blocks, const at::Tensor& x) {
  models::Tensors values{x};
  for (const auto& block : blocks) values = block.run(values);
  return values.at(0);
}

inline void load(step::Session& s, const Values& values) {
  const at::NoGradGuard no_grad;
  for (auto& item : s.net->named_parameters()) item.value().copy_(values.at(item.key()));
}

// A step of the first layer beside backprop's: how far from it, and how long, as shares of its
// length.
struct Followed {
  double missed, length;
};

// Steps of a network that stays as it is and sees one batch over and over.
inline std::vector<Followed> followed(const config::RunConfig& c, int steps) {
  const data::Batch shown = batch(c);
  const auto moves = [&](int64_t modules, int count) {
    config::RunConfig parted = c;
    parted.parts.get<rivals::ModulesOptions>().count = modules;
    step::Session s = session(parted);
    const auto trained = method::find_method("modules").make(s);
    const Values before = copy_of(*s.net);
    std::vector<at::Tensor> out;
    for (int i = 0; i < count; ++i) {
      load(s, before);
      trained->full_step(s, shown);
      const at::Tensor now = s.net->named_parameters()["conv1.weight"].detach();
      out.push_back(before.at("conv1.weight") - now);
    }
    return out;
  };
  const at::Tensor aim = moves(1, 1)[0];
  const auto share = [&](const at::Tensor& x) { return (x.norm() / aim.norm()).item<double>(); };
  std::vector<Followed> out;
  for (const at::Tensor& move : moves(c.parts.get<rivals::ModulesOptions>().count, steps)) {
    out.push_back({share(move - aim), share(move)});
  }
  return out;
}

}  // namespace adagp::small
