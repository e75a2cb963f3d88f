#pragma once
// One entry for each method of this folder, in the order of 'adagp list methods'. A new method is a
// file that defines its entry, and its name in this list.

#include <memory>

#include "adagp/engine/method/table.h"

#define ADAGP_METHODS(entry)                                                                      \
  entry(bp) entry(adagp) entry(skip) entry(zero) entry(ema) entry(small_batch) entry(wrong_input) \
      entry(equal_time) entry(progressive) entry(low_res) entry(freeze) entry(stored_loss)        \
          entry(infobatch)

namespace adagp::method::entries {

#define ADAGP_DECLARE(name) MethodEntry name();
ADAGP_METHODS(ADAGP_DECLARE)
#undef ADAGP_DECLARE

// Makes a T of the session, or of nothing.
template <typename T>
std::function<std::unique_ptr<Method>(step::Session&)> maker() {
  return [](step::Session& s) -> std::unique_ptr<Method> {
    if constexpr (std::is_constructible_v<T, step::Session&>) {
      return std::make_unique<T>(s);
    } else {
      return std::make_unique<T>();
    }
  };
}

}  // namespace adagp::method::entries
