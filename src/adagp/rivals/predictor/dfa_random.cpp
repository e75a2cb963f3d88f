#include "adagp/rivals/predictor/dfa_random.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"

namespace adagp::predictor {

DfaRandomPredictor::DfaRandomPredictor(const std::vector<nn::WeightLayer*>& layers,
                                       const Config& config, uint64_t seed, int64_t,
                                       const PredictorSync&)
    : Feedback(layers, config),
      seed_(seed),
      options_(predictor_options(layers)),
      drawn_(layers.size()),
      errors_(at::zeros({classes_, classes_}, options_.dtype(at::kDouble))),
      norms_(at::zeros({static_cast<int64_t>(layers.size())}, options_.dtype(at::kDouble))) {}

DfaRandomPredictor::Drawn& DfaRandomPredictor::drawn(size_t layer, int64_t width) {
  Drawn& found = drawn_[layer];
  if (!found.matrix.defined() || found.matrix.size(1) != width) {
    // On the CPU, so that every device has the same.
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(core::mix({seed_, layer}));
    found.matrix = at::randn({classes_, width}, generator, at::kFloat).to(options_);
    const at::Tensor rows = found.matrix.to(at::kDouble);
    found.gram = rows.mm(rows.t());
  }
  return found;
}

at::Tensor DfaRandomPredictor::coefficients(const at::Tensor& errors) const {
  return errors.to(c10::typeMetaToScalarType(options_.dtype()));
}

at::Tensor DfaRandomPredictor::feedback(size_t layer, int64_t width) {
  const Drawn& found = drawn(layer, width);
  const at::Tensor norm = found.gram.mul(errors_).sum();
  const at::Tensor ratio = norms_.select(0, static_cast<int64_t>(layer)).div(norm).sqrt_();
  const at::Tensor scale = at::where(norm.gt(0), ratio, at::zeros_like(ratio));
  return found.matrix.mul(scale.to(found.matrix.scalar_type()));
}

at::Tensor DfaRandomPredictor::see(size_t layer, const at::Tensor& errors,
                                   const at::Tensor& deltas) {
  norms_.select(0, static_cast<int64_t>(layer))
      .mul_(rivals::options_of(config_).forget)
      .add_(deltas.square().sum().to(at::kDouble));
  return errors.t().mm(deltas);
}

void DfaRandomPredictor::see(const at::Tensor& errors) {
  const at::Tensor e = errors.to(at::kDouble);
  errors_.mul_(rivals::options_of(config_).forget).addmm_(e.t(), e);
}

std::map<std::string, at::Tensor> DfaRandomPredictor::state() const {
  return {{"errors", errors_},
          {"norms", norms_},
          {"seed", at::full({1}, static_cast<int64_t>(seed_), at::kLong)}};
}

void DfaRandomPredictor::load_state(const std::map<std::string, at::Tensor>& state) {
  for (const auto& [name, to] : this->state()) {
    const auto found = state.find(name);
    if (found == state.end() || found->second.sizes() != to.sizes()) {
      throw DataError("predictor state: '" + name + "' is missing or of another size");
    }
    to.copy_(found->second);
  }
  seed_ = static_cast<uint64_t>(state.at("seed").item<int64_t>());
  drawn_.assign(drawn_.size(), {});
}

int64_t DfaRandomPredictor::parameter_count() const {
  int64_t sum = 0;
  for (const Drawn& one : drawn_) sum += one.matrix.defined() ? one.matrix.numel() : 0;
  return sum;
}

Entry entries::dfa_random() {
  return {"dfa-random", "the same with fixed random feedback, its length fitted",
          maker<DfaRandomPredictor>()};
}

}  // namespace adagp::predictor
