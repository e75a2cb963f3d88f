#pragma once
// A part of a batch's examples, chosen by their losses.

#include <string>

#include "adagp/engine/data/stream/batch.h"

namespace adagp::method {

struct Choice {
  at::Tensor rows;     // int64 [count], places in the batch
  at::Tensor weights;  // float [count], what each counts; undefined: 1 each
};

// "top": those with the largest losses. "priority": the larger the loss the likelier, weighted so
// that the expected mean over the chosen is the mean over all. Asks the device nothing.
Choice choose(const at::Tensor& losses, int64_t count, const std::string& rule);

data::Batch cut_out(const data::Batch& batch, const Choice& choice);

}  // namespace adagp::method
