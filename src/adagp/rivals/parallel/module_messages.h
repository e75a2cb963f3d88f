#pragma once
// What the modules of method modules, one in each process of a pipeline, say to each other.

#include <deque>

#include "adagp/engine/models/model.h"
#include "adagp/teams/comm/message.h"

namespace adagp::parallel {

class ModuleMessages {
 public:
  explicit ModuleMessages(comm::Group& pipe, at::Device device) : pipe_(pipe), device_(device) {}

  size_t module() const { return static_cast<size_t>(pipe_.rank()); }  // of this process, from 0
  size_t count() const { return static_cast<size_t>(pipe_.size()); }   // of all modules

  // What this module made in the present tick, for the neighbours; empty: nothing yet. Both are
  // called once a tick, with the first and the last module too.
  void pass_on(const models::Tensors& outputs);
  void pass_back(const models::Tensors& gradients);
  // What the neighbours made in this tick. Inputs are leaves where they have gradients.
  models::Tensors take_inputs();
  models::Tensors take_gradients();

 private:
  comm::Route route(int peer, bool gradients) const;
  void send(int peer, bool gradients, const models::Tensors& tensors);
  models::Tensors receive(int peer, bool gradients);

  comm::Group& pipe_;
  at::Device device_;
  std::deque<comm::Transfers> sent_;  // by call; those of two ticks at most
};

}  // namespace adagp::parallel
