#include "adagp/engine/models/mixed.h"

#include <utility>

#include "adagp/base/core/text.h"

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
    BranchRun& run = branches_.emplace_back();
    for (const Step& step : branch) {
      run.steps.push_back(build(step, /*shared=*/run.steps.empty(), channels, options));
    }
    run.first_channel = out_;
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

MixedImpl::Run MixedImpl::build(const Step& step, bool shared, int64_t& channels,
                                const Options& options) {
  if (const auto* max = std::get_if<MaxPool>(&step)) {
    return [pool = max->pool](const at::Tensor& x, const nn::MapPlace&) {
      return nn::max_pool2d(x, pool);
    };
  }
  if (const auto* average = std::get_if<AvgPool>(&step)) {
    return [pool = average->pool](const at::Tensor& x, const nn::MapPlace&) {
      return nn::avg_pool2d(x, pool);
    };
  }
  if (const auto* fork = std::get_if<Fork>(&step)) {
    auto first = build_unit(fork->first, channels, options);
    auto second = build_unit(fork->second, channels, options);
    channels = narrowed(fork->first.out + fork->second.out, options);
    const int64_t half = narrowed(fork->first.out, options);
    return [first, second, half](at::Tensor& x, const nn::MapPlace& place) {
      const at::Tensor left = first->forward_shared(x, place);
      const at::Tensor right = second->forward(x, {place.map, place.first_channel + half});
      return place.map != nullptr ? place.map->join(place.first_channel, {left, right})
                                  : nn::concat({left, right});
    };
  }
  const Unit& single = std::get<Unit>(step);
  auto module = build_unit(single, channels, options);
  channels = narrowed(single.out, options);
  return [module, shared](at::Tensor& x, const nn::MapPlace& place) {
    return shared ? module->forward_shared(x, place) : module->forward(x, place);
  };
}

at::Tensor MixedImpl::forward(at::Tensor x) {
  nn::JoinedMap joined(out_);
  std::vector<at::Tensor> outputs;
  for (const auto& [steps, first_channel] : branches_) {
    at::Tensor y;
    for (size_t i = 0; i < steps.size(); ++i) {
      const bool last = i + 1 == steps.size();
      const nn::MapPlace place = last ? nn::MapPlace{&joined, first_channel} : nn::MapPlace{};
      y = steps[i](i == 0 ? x : y, place);
    }
    outputs.push_back(std::move(y));
  }
  return joined.join(0, outputs);
}

}  // namespace adagp::models::inception
