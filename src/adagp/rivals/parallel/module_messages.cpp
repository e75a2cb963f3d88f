#include "adagp/rivals/parallel/module_messages.h"

#include "adagp/base/core/text.h"

namespace adagp::parallel {

comm::Route ModuleMessages::route(int peer, bool gradients) const {
  return {pipe_, peer, gradients ? comm::kTags : 0,
          core::cat(gradients ? "gradients" : "activations", " between modules ",
                    std::min(peer, pipe_.rank()), " and ", std::max(peer, pipe_.rank()))};
}

// The form goes along each time: the first ticks have nothing to send, and sentences have lengths.
void ModuleMessages::send(int peer, bool gradients, const models::Tensors& tensors) {
  if (peer < 0 || peer >= pipe_.size()) return;
  constexpr size_t kMost = 4;
  sent_.emplace_back();
  const comm::Route to = route(peer, gradients);
  comm::send_specs(to, comm::specs_of(tensors), sent_.back());
  comm::send_tensors(to, tensors, sent_.back());
  while (sent_.size() > kMost) {
    for (auto& transfer : sent_.front()) transfer->wait();
    sent_.pop_front();
  }
}

models::Tensors ModuleMessages::receive(int peer, bool gradients) {
  if (peer < 0 || peer >= pipe_.size()) return {};
  const comm::Route from = route(peer, gradients);
  const comm::TensorSpecs specs = comm::receive_specs(from);
  if (specs.empty()) return {};
  return comm::PendingReceive(from, specs, device_).take(!gradients);
}

void ModuleMessages::pass_on(const models::Tensors& outputs) {
  send(pipe_.rank() + 1, false, outputs);
}
void ModuleMessages::pass_back(const models::Tensors& gradients) {
  send(pipe_.rank() - 1, true, gradients);
}
models::Tensors ModuleMessages::take_inputs() {
  return receive(pipe_.rank() - 1, false);
}
models::Tensors ModuleMessages::take_gradients() {
  return receive(pipe_.rank() + 1, true);
}

}  // namespace adagp::parallel
