// Rules that choose the examples of an epoch; their steps are those of the method they join.

#include "adagp/method/entries.h"

namespace adagp::method {

MethodEntry entries::stored_loss() {
  return {.name = "stored-loss",
          .about = "rule: examples are kept by the rank of the loss they had when last seen",
          .reads = "select. stored_loss.",
          .select = {plan::stored_loss_rule}};
}

MethodEntry entries::infobatch() {
  return {.name = "infobatch",
          .about =
              "rule: a share of the examples below the mean loss is left out, the rest weighs "
              "more",
          .reads = "select. infobatch.",
          .select = {plan::infobatch_rule}};
}

}  // namespace adagp::method
