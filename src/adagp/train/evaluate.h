#pragma once
// Accuracy and loss on a data set, without augmentation.

#include "adagp/data/loader.h"
#include "adagp/models/model.h"

namespace adagp::train {

struct Evaluation {
  double top1 = 0, top5 = 0;  // percent
  double loss = 0;
  int64_t images = 0;
  at::Tensor logits;  // [N, classes] on the CPU, when asked for
};

Evaluation evaluate(models::Net& net, data::Loader& loader, at::Device device, bool bf16,
                    bool keep_logits = false);

}  // namespace adagp::train
