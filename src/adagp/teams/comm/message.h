#pragma once
// Several tensors of any shape between two processes.

#include <memory>
#include <string>
#include <vector>

#include "adagp/engine/models/model.h"
#include "adagp/teams/comm/group.h"

namespace adagp::comm {

// A message uses the tags tag .. tag + kTags - 1: the first for its form, then one for each tensor.
constexpr int kTags = 8;

struct TensorSpec {
  at::ScalarType type = at::kFloat;
  bool gradient = false;  // the tensor has one
  bool channels_last = false;
  std::vector<int64_t> sizes = {};
  bool operator==(const TensorSpec&) const = default;
};
using TensorSpecs = std::vector<TensorSpec>;
TensorSpecs specs_of(const models::Tensors& tensors);

// Where a message goes or comes from.
struct Route {
  Group& group;
  int peer;
  int tag;
  std::string doing;
};

// A peer of another version, or somebody else, may have written what comes from it: nothing is
// allocated by its numbers before they are known to be possible. Both throw PeerError.
[[noreturn]] void refuse_announced(const std::string& doing, int peer, const std::string& what);
void check_announced(const std::string& doing, int peer, int64_t type,
                     const std::vector<int64_t>& sizes);

using Transfers = std::vector<std::unique_ptr<Transfer>>;
void send_specs(const Route& route, const TensorSpecs& specs, Transfers& transfers);
// Throws PeerError for a form that no message has, before anything of its size is allocated.
TensorSpecs receive_specs(const Route& route);

// As they lie in memory; the receiver knows their specs.
void send_tensors(const Route& route, const models::Tensors& tensors, Transfers& transfers);

// A message that is on its way.
class PendingReceive {
 public:
  PendingReceive(const Route& route, const TensorSpecs& specs, at::Device device);
  // Waits for it. Those with a gradient are leaves that require it when `leaves`.
  models::Tensors take(bool leaves);

 private:
  models::Tensors tensors_;
  std::vector<bool> gradient_;
  Transfers transfers_;
};

}  // namespace adagp::comm
