#include "adagp/engine/step/undo.h"

#include <ATen/ATen.h>

namespace adagp::step {

UndoScope::UndoScope(Session& session)
    : undo_(session, "the state before a rehearsal", [this, &session] {
        const at::NoGradGuard no_grad;
        for (auto& [tensor, before] : kept_) tensor.copy_(before);
        session.optimizer->clear_gradients();
        session.optimizer->refresh_bf16_copies();
      }) {
  const auto keep = [this](const at::Tensor& tensor) {
    kept_.emplace_back(tensor, tensor.clone());
  };
  for (const auto& item : session.net->named_parameters()) keep(item.value().detach());
  for (const auto& item : session.net->named_buffers()) keep(item.value());
  for (const auto& [name, moment] : session.optimizer->state()) keep(moment);
}

}  // namespace adagp::step
