#pragma once
// Accuracy and loss on a data set, without augmentation.

#include "adagp/data/loader.h"
#include "adagp/models/model.h"
#include "adagp/train/step_graph.h"

namespace adagp::train {

struct Evaluation {
  double top1 = 0, top5 = 0;  // percent
  double loss = 0;
  int64_t images = 0;
  at::Tensor logits;  // [N, classes] on the CPU, when asked for
};

// Of the session's network. `graph`, when not null, serves the batches of equal size.
Evaluation evaluate(Session& session, data::Loader& loader, StepGraph* graph = nullptr,
                    bool keep_logits = false);

}  // namespace adagp::train
