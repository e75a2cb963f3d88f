#pragma once
// What to do after Ctrl-C: the library says where it saved, the command knows how to go on.

#include <string>

#include "adagp/base/core/error.h"

namespace adagp::apps {

inline constexpr const char* kWithoutOverwrite =
    "the same command without --overwrite goes on from there";

// Runs `work`; to its Interrupted it adds how the command goes on.
template <typename Work>
auto with_resume_advice(bool overwrite, const char* without_overwrite, Work work) {
  try {
    return work();
  } catch (const Interrupted& error) {
    constexpr int kSignalCode = 128;
    throw Interrupted(std::string(error.what()) + "; " +
                          (overwrite ? without_overwrite : "the same command goes on from there"),
                      error.exit_code() - kSignalCode);
  }
}

}  // namespace adagp::apps
