#include "adagp/rivals/rivals.h"

#include "adagp/engine/step/session_part.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"
#include "adagp/rivals/parallel/compressors.h"
#include "adagp/rivals/step/parts.h"

namespace adagp::rivals {

void add() {
  static const bool once = [] {
    add_keys();
#define ADAGP_ADD(name) method::add(method::entries::name());
    ADAGP_RIVAL_METHODS(ADAGP_ADD)
#undef ADAGP_ADD
#define ADAGP_ADD(name) predictor::add(predictor::entries::name());
    ADAGP_RIVAL_PREDICTORS(ADAGP_ADD)
#undef ADAGP_ADD
    step::add_part_maker(step::make_fast_widths);
    step::add_part_maker(step::make_edram);
    parallel::add_compressor(parallel::compressor_entry());
    return true;
  }();
  (void)once;
}

}  // namespace adagp::rivals
