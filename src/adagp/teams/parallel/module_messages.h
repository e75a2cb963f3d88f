#pragma once
// What the modules of method modules, one in each process of a pipeline, say to each other.

#include <deque>

#include "adagp/engine/step/module_link.h"
#include "adagp/teams/comm/message.h"

namespace adagp::parallel {

class ModuleMessages : public step::ModuleLink {
 public:
  explicit ModuleMessages(comm::Group& pipe, at::Device device) : pipe_(pipe), device_(device) {}

  size_t module() const override { return static_cast<size_t>(pipe_.rank()); }
  size_t count() const override { return static_cast<size_t>(pipe_.size()); }
  void pass_on(const models::Tensors& outputs) override;
  void pass_back(const models::Tensors& gradients) override;
  models::Tensors take_inputs() override;
  models::Tensors take_gradients() override;

 private:
  comm::Route route(int peer, bool gradients) const;
  void send(int peer, bool gradients, const models::Tensors& tensors);
  models::Tensors receive(int peer, bool gradients);

  comm::Group& pipe_;
  at::Device device_;
  std::deque<comm::Transfers> sent_;  // by call; those of two ticks at most
};

}  // namespace adagp::parallel
