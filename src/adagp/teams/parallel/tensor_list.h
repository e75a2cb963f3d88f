#pragma once
// Which tensors a process is about to send, told as text.

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include "adagp/engine/io/tensors.h"

namespace adagp::parallel {

struct TensorNote {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> sizes;
};

// Who tells something, and of what: for messages.
struct Teller {
  int rank = 0;
  std::string doing;
};

nlohmann::json tensor_list(const io::TensorMap& tensors);

// What a peer told. They throw PeerError naming it for what is no JSON, or no such list.
nlohmann::json told_json(const Teller& teller, const std::string& text);
int64_t told_number(const Teller& teller, const nlohmann::json& value);
std::vector<TensorNote> told_tensors(const Teller& teller, const nlohmann::json& list);

}  // namespace adagp::parallel
