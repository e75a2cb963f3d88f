#include "adagp/models/mixed.h"

#include <utility>

#include "adagp/core/text.h"

namespace adagp::models::inception {

Unit unit(std::string name, int64_t out, int64_t kernel, int64_t stride, int64_t padding) {
  return {std::move(name), out, {kernel, kernel}, {stride, stride}, {padding, padding}};
}
Unit wide_unit(std::string name, int64_t out, int64_t kernel) {
  return {std::move(name), out, {1, kernel}, {1, 1}, {0, kernel / 2}};
}
Unit tall_unit(std::string name, int64_t out, int64_t kernel) {
  return {std::move(name), out, {kernel, 1}, {1, 1}, {kernel / 2, 0}};
}

UnitStyle inception_style() {
  return {"conv", "bn", 1e-3};
}

MixedImpl::MixedImpl(int64_t in, const Branches& branches, const Options& options) {
  for (const Branch& branch : branches) {
    int64_t channels = in;
    auto& runs = branches_.emplace_back();
    for (const Step& step : branch) runs.push_back(build(step, channels, options));
    out_ += channels;
  }
}

std::shared_ptr<ConvUnitImpl> MixedImpl::build_unit(const Unit& unit, int64_t in,
                                                    const Options& options) {
  nn::Conv2dOptions conv{in, narrowed(unit.out, options)};
  conv.kernel = unit.kernel;
  conv.stride = unit.stride;
  conv.padding = unit.padding;
  torch::nn::Module* parent = this;
  auto parts = core::split(unit.name, '.');
  const std::string last = parts.back();
  parts.pop_back();
  for (const std::string& part : parts) {
    const auto children = parent->named_children();
    const auto* known = children.find(part);
    parent = known != nullptr
                 ? known->get()
                 : parent->register_module(part, std::make_shared<torch::nn::Module>(part)).get();
  }
  return parent->register_module(last, ConvUnit(conv, nn::relu_act(), inception_style()));
}

MixedImpl::Run MixedImpl::build(const Step& step, int64_t& channels, const Options& options) {
  if (const auto* max = std::get_if<MaxPool>(&step)) {
    return [pool = max->pool](const at::Tensor& x) { return nn::max_pool2d(x, pool); };
  }
  if (const auto* average = std::get_if<AvgPool>(&step)) {
    return [pool = average->pool](const at::Tensor& x) { return nn::avg_pool2d(x, pool); };
  }
  if (const auto* fork = std::get_if<Fork>(&step)) {
    auto first = build_unit(fork->first, channels, options);
    auto second = build_unit(fork->second, channels, options);
    channels = narrowed(fork->first.out + fork->second.out, options);
    return [first, second](const at::Tensor& x) {
      const at::Tensor left = first->forward(x);
      return nn::concat({left, second->forward(x)});
    };
  }
  const Unit& single = std::get<Unit>(step);
  auto module = build_unit(single, channels, options);
  channels = narrowed(single.out, options);
  return [module](at::Tensor& x) { return module->forward_shared(x); };
}

at::Tensor MixedImpl::forward(at::Tensor x) {
  std::vector<at::Tensor> outputs;
  for (const auto& branch : branches_) {
    at::Tensor y = branch.front()(x);
    for (size_t i = 1; i < branch.size(); ++i) y = branch[i](y);
    outputs.push_back(std::move(y));
  }
  return nn::concat(outputs);
}

}  // namespace adagp::models::inception
