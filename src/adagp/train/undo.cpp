#include "adagp/train/undo.h"

#include <ATen/ATen.h>

#include "adagp/core/error.h"

namespace adagp::train {
namespace {

// They share memory with the session.
std::map<std::string, at::Tensor> changeable(const Session& s) {
  std::map<std::string, at::Tensor> out;
  for (const auto& item : s.net->named_parameters()) {
    out["parameter." + item.key()] = item.value().detach();
  }
  for (const auto& item : s.net->named_buffers()) out["buffer." + item.key()] = item.value();
  for (const auto& [name, moment] : s.optimizer->state()) out["optimizer." + name] = moment;
  return out;
}

}  // namespace

void Undo::keep(const Session& s) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : changeable(s)) {
    at::Tensor& copy = copies_[name];
    if (!copy.defined()) copy = at::empty_like(tensor);
    copy.copy_(tensor);
  }
  kept_ = true;
}

void Undo::take_back(Session& s) {
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : changeable(s)) {
    const auto found = copies_.find(name);
    if (found == copies_.end() || found->second.sizes() != tensor.sizes()) {
      throw DataError("method state: what is to be taken back has no fitting '" + name + "'");
    }
    tensor.copy_(found->second);
  }
  s.optimizer->clear_gradients();
  s.optimizer->refresh_low();
  forget();
}

std::map<std::string, at::Tensor> Undo::state() const {
  return kept_ ? copies_ : std::map<std::string, at::Tensor>();
}

void Undo::load_state(const std::map<std::string, at::Tensor>& state) {
  copies_.clear();
  for (const auto& [name, tensor] : state) copies_[name] = tensor.clone();
  kept_ = !copies_.empty();
}

}  // namespace adagp::train
