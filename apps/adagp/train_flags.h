#pragma once
// The flags that train, compare and others share, each the short form of a configuration key.

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "adagp/train/config.h"

namespace adagp::apps {

class TrainFlags {
 public:
  // Declares the flags on `command`; `recipe` as a positional argument when wanted.
  void declare(CLI::App& command, bool with_recipe);
  // flag > --set > ADAGP_* > recipe > `config`. Throws UsageError.
  train::Config resolve(train::Config config = {}) const;

 private:
  void flag(CLI::App& command, const std::string& names, const std::string& key,
            const std::string& about);

  std::string recipe_;
  std::map<std::string, std::pair<std::string, std::string>> flags_;  // key -> flag, text
  std::vector<std::string> sets_;
  bool deterministic_ = false;
};

}  // namespace adagp::apps
