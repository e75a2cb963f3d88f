#pragma once
// One entry for each method and predictor of this library. A new one is a file that defines its
// entry, and its name in one of these lists.

#include "adagp/engine/method/entries.h"
#include "adagp/engine/predictor/entries.h"

#define ADAGP_RIVAL_METHODS(entry)                                            \
  entry(selective) entry(partial) entry(modules) entry(xgrad) entry(dropback) \
      entry(control_variate) entry(noise) entry(automatic)
#define ADAGP_RIVAL_PREDICTORS(entry) \
  entry(mlp) entry(remap) entry(dfa) entry(dfa_random) entry(vt) entry(dni) entry(head_ridge)

namespace adagp::method::entries {

#define ADAGP_DECLARE(name) MethodEntry name();
ADAGP_RIVAL_METHODS(ADAGP_DECLARE)
#undef ADAGP_DECLARE

}  // namespace adagp::method::entries

namespace adagp::predictor::entries {

#define ADAGP_DECLARE(name) Entry name();
ADAGP_RIVAL_PREDICTORS(ADAGP_DECLARE)
#undef ADAGP_DECLARE

}  // namespace adagp::predictor::entries
