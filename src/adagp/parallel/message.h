#pragma once
// Several tensors of any shape between two processes.

#include <memory>
#include <string>
#include <vector>

#include "adagp/models/model.h"
#include "adagp/parallel/group.h"

namespace adagp::parallel {

// A message uses the tags tag .. tag + kTags - 1: the first for its form, then one for each tensor.
constexpr int kTags = 8;

struct Form {
  at::ScalarType type = at::kFloat;
  bool gradient = false;  // the tensor has one
  bool channels_last = false;
  std::vector<int64_t> sizes = {};
  bool operator==(const Form&) const = default;
};
using Forms = std::vector<Form>;
Forms forms_of(const models::Tensors& tensors);

// Where a message goes or comes from.
struct Line {
  Group& group;
  int peer;
  int tag;
  std::string doing;
};

using Transfers = std::vector<std::unique_ptr<Transfer>>;
void send_forms(const Line& line, const Forms& forms, Transfers& transfers);
Forms receive_forms(const Line& line);

// As they lie in memory; the receiver knows their forms.
void send_tensors(const Line& line, const models::Tensors& tensors, Transfers& transfers);

// A message that is on its way.
class Expected {
 public:
  Expected(const Line& line, const Forms& forms, at::Device device);
  // Waits for it. Those with a gradient are leaves that require it when `leaves`.
  models::Tensors take(bool leaves);

 private:
  models::Tensors tensors_;
  std::vector<bool> gradient_;
  Transfers transfers_;
};

}  // namespace adagp::parallel
