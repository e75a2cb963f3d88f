#pragma once
// The table of methods, and how a name is looked up in it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adagp/base/plan/selection.h"
#include "adagp/engine/method/method.h"
#include "adagp/engine/task/network.h"

namespace adagp::method {

// Where a method's cheap batches come from.
enum class Cheap {
  kNone,       // every batch is a BP batch whatever the schedule says
  kScheduled,  // the schedule says which they are
  kDecided,    // the method says, as it goes
};

// What a user may expect of it ('adagp list methods'; docs/methods.md has the evidence).
enum class Standing {
  kRecommended,
  kControl,    // cheaper than what it stands beside: what is not better than it does not pay
  kPublished,  // of a paper, as published
  kExperiment,
};
const char* name_of(Standing standing);

// For a method whose run is a number of batches, whatever the epochs are.
struct RunLength {
  std::function<int64_t(const config::RunConfig&)> batches = {};
  // Called before the run: measures that number and stores it in the configuration.
  std::function<void(config::RunConfig&, const task::TaskPtr&, const task::NetMaker&)> fix = {};

  explicit operator bool() const { return static_cast<bool>(batches); }
};

// One line of the table of methods: a kind of step, or a rule for the examples of an epoch.
struct MethodEntry {
  std::string name;
  std::string about;
  Standing standing = Standing::kExperiment;
  Cheap cheap = Cheap::kNone;
  bool predicts = false;  // needs the predictor
  std::function<std::unique_ptr<Method>(step::Session&)> make = {};
  plan::SelectionRule select = {};  // a rule; its steps are those of the method it is joined with
  // Knows how to train stages that learn apart (Team::stages_apart).
  bool stages_apart = false;
  // Learns from every exact batch in a way of its own, so that no method can mix it in.
  bool learns_itself = false;
  RunLength length = {};
  // The methods whose cheap steps it may use; empty: its own.
  std::function<std::vector<std::string>(const config::RunConfig&)> mixes = {};
};
const std::vector<MethodEntry>& method_table();
// Of another library; before the first look at the table.
void add(MethodEntry entry);
// "adagp", "stored-loss", or a step and a rule joined: "progressive+stored-loss". Throws UsageError
// with the nearest name.
MethodEntry find_method(const std::string& name);
// Calls RunLength::fix of the configured method, if it has one.
void fix_length(config::RunConfig& config, const task::TaskPtr& task,
                const task::NetMaker& make_net);
// Whether its steps, or one of those that it mixes in, predict.
bool needs_predictor(const config::RunConfig& config);

}  // namespace adagp::method
