#pragma once
// The flags that train, compare and others share, each the short form of a configuration key.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/train/unused_keys.h"

namespace adagp::apps {

class TrainFlags {
 public:
  // Declares the flags on `command`; `recipe` as a positional argument when wanted.
  void declare(CLI::App& command, bool with_recipe);
  // flag > --set > ADAGP_* > recipe > `config`. Throws UsageError.
  config::RunConfig resolve(config::RunConfig config = {}) const;
  // The same of a run to train; behind all of it stands what the weights file it begins from says
  // of its network.
  config::RunConfig resolve_run() const;
  // Throws UsageError where neither a recipe nor a key names a network, data or weights: the
  // defaults would train for hours what nobody asked for.
  void refuse_unnamed() const;
  // What flags, --set and the environment set: a recipe may serve several methods.
  std::vector<train::GivenKey> given() const;

 private:
  enum class Environment { kWhole, kNetwork };  // kNetwork: weights and model.name alone
  void fill(config::RunConfig& config, Environment environment) const;
  void flag(CLI::App& command, const std::string& names, const std::string& key,
            const std::string& about);

  std::string recipe_;
  mutable std::optional<std::string> recipe_text_;                    // a pipe can be read once
  std::map<std::string, std::pair<std::string, std::string>> flags_;  // key -> flag, text
  std::vector<std::string> sets_;
  bool deterministic_ = false;
};

// Warns of keys that none of these runs reads.
void warn_unused(const std::vector<train::GivenKey>& given,
                 const std::vector<config::RunConfig>& runs,
                 train::WhyUnused why = train::why_unused);

}  // namespace adagp::apps
