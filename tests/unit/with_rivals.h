#pragma once
// For tests that look at every method: includes the rivals where the build has them.

#include <string>
#include <vector>

#ifdef ADAGP_WITH_RIVALS
#include "adagp/rivals/options/options.h"
#include "adagp/rivals/rivals.h"
#endif

namespace adagp::testing {

#ifdef ADAGP_WITH_RIVALS
inline const bool rivals_are_here = (rivals::add(), true);
#endif

// `engine`, and `rivals` where the build has them.
inline std::vector<std::string> with_rivals(std::vector<std::string> engine,
                                            const std::vector<std::string>& rivals) {
#ifdef ADAGP_WITH_RIVALS
  engine.insert(engine.end(), rivals.begin(), rivals.end());
#else
  (void)rivals;
#endif
  return engine;
}

}  // namespace adagp::testing
