#pragma once
// One of a network's modules in a process of its own, with neighbours in others (method modules).

#include "adagp/engine/models/model.h"

namespace adagp::step {

class ModuleLink {
 public:
  virtual ~ModuleLink() = default;

  virtual size_t module() const = 0;  // the one of this process, from 0
  virtual size_t count() const = 0;   // of all modules

  // What this module made in the present tick, for the neighbours; empty: nothing yet. Both are
  // called once a tick, with the first and the last module too.
  virtual void pass_on(const models::Tensors& outputs) = 0;
  virtual void pass_back(const models::Tensors& gradients) = 0;
  // What the neighbours made in this tick. Inputs are leaves where they have gradients.
  virtual models::Tensors take_inputs() = 0;
  virtual models::Tensors take_gradients() = 0;
};

}  // namespace adagp::step
