#include "adagp/method/method.h"

#include <algorithm>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/method/factories.h"
#include "adagp/plan/heldout_examples.h"

namespace adagp::method {

double Method::cost(const step::Session& s, const Costs& costs, const BatchContext&,
                    int64_t examples) const {
  return costs.backprop(0, s.first_block) * static_cast<double>(examples);
}

const at::Tensor& saved(const std::map<std::string, at::Tensor>& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) throw DataError("method state: '" + name + "' is missing");
  return found->second;
}

const std::vector<MethodEntry>& method_table() {
  static const std::vector<MethodEntry> table{
      {"bp", "plain backprop on every batch", Cheap::kNone, false, "", backprop_method()},
      {"adagp", "ADA-GP: GP batches take predicted gradients", Cheap::kScheduled, true,
       "head probe_every", adagp_method()},
      {"skip", "control: GP batches are dropped", Cheap::kScheduled, false, "", skip_method()},
      {"zero", "control: gradient 0 in GP batches; momentum and decay act", Cheap::kScheduled,
       false, "head probe_every", zero_method()},
      {"ema", "control: running mean of the true gradients in GP batches", Cheap::kScheduled, false,
       "head probe_every ema.", ema_method()},
      {"small-batch", "control: exact backprop on a quarter of each GP batch", Cheap::kScheduled,
       false, "small_batch.", small_batch_method()},
      {"wrong-input", "control: adagp whose predictor is fed the batch before", Cheap::kScheduled,
       true, "head probe_every", wrong_input_method()},
      {"equal-time", "control: backprop for as long as adagp took, learning rate fully decayed",
       Cheap::kNone, false, "equal_time.", backprop_method()},
      {"progressive", "exact: the run begins with small images and ends with whole ones",
       Cheap::kNone, false, "low_res.sizes low_res.shares low_res.scale_batch low_res.scale_lr",
       progressive_method()},
      {"low-res", "exact: GP batches are backprop on smaller images", Cheap::kScheduled, false,
       "low_res.sizes low_res.scale_batch low_res.scale_lr low_res.move_statistics",
       low_res_method()},
      {"selective", "exact: in GP batches only the examples with the largest losses go backward",
       Cheap::kScheduled, false, "selective.", selective_method()},
      {"partial", "exact: in GP batches the backward pass stops after the last blocks",
       Cheap::kScheduled, false, "partial.", partial_method()},
      {"freeze", "exact: the first blocks stop learning one after the other", Cheap::kNone, false,
       "freeze.", freeze_method()},
      {"control-variate",
       "unbiased: all of a GP batch is predicted for, a part of it corrects the predictions",
       Cheap::kScheduled, true, "head probe_every control_variate.", control_variate_method()},
      {"auto",
       "measures which of auto.steps pay, and mixes in those alone",
       Cheap::kDecided,
       false,
       "auto.",
       auto_method(),
       {plan::all_but_heldout_rule, false}},
      {"stored-loss",
       "rule: examples are kept by the rank of the loss they had when last seen",
       Cheap::kNone,
       false,
       "select. stored_loss.",
       {},
       {plan::stored_loss_rule}},
      {"infobatch",
       "rule: a share of the examples below the mean loss is left out, the rest weighs "
       "more",
       Cheap::kNone,
       false,
       "select. infobatch.",
       {},
       {plan::infobatch_rule}},
  };
  return table;
}

namespace {

const MethodEntry& find_part(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& entry : method_table()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  for (const auto& kind : predictor::registry()) {
    if (kind.name != name) continue;
    throw UsageError("unknown method '" + name +
                     "': it is a predictor; use --method adagp --set "
                     "predictor.kind=" +
                     name);
  }
  throw UsageError("unknown method '" + name + "'" + core::suggestion(name, names));
}

}  // namespace

MethodEntry find_method(const std::string& name) {
  MethodEntry step = find_part("bp");
  plan::SelectionRule rule;
  std::string reads;
  bool has_step = false;
  for (const std::string& part : core::split(name, '+')) {
    const MethodEntry& entry = find_part(part);
    const bool again = (entry.make && std::exchange(has_step, true)) || (entry.select && rule);
    if (again && (entry.cheap == Cheap::kDecided || step.cheap == Cheap::kDecided)) {
      throw UsageError("method '" + name + "': auto decides by itself and cannot be joined");
    }
    if (again) {
      throw UsageError("method '" + name + "': joins two " +
                       (entry.make ? "kinds of steps" : "rules") +
                       ", expected one kind of step and one rule, as progressive+stored-loss");
    }
    reads += (reads.empty() ? "" : " ") + entry.reads;
    if (entry.make) step = entry;
    if (entry.select) rule = entry.select;
  }
  if (step.name == "equal-time" && rule) {
    throw UsageError("method '" + name + "': equal-time is plain backprop; it takes no rule");
  }
  step.name = name;
  step.select = rule;
  step.reads = reads;
  return step;
}

void require_alone(const step::Session& s) {
  if (!s.team) return;
  throw UsageError("method " + s.config.method + " trains in one process; leave out --parallel");
}

void require_losses(const step::Session& s) {
  if (s.task->plans_epochs()) return;
  throw UsageError("method " + s.config.method + " chooses by the loss of each example, and " +
                   models::task_name(s.task->kind()) + " has none; use it for classification");
}

bool needs_predictor(const config::RunConfig& config) {
  const MethodEntry entry = find_method(config.method);
  if (entry.predicts || entry.cheap != Cheap::kDecided) return entry.predicts;
  return std::any_of(config.automatic.steps.begin(), config.automatic.steps.end(),
                     [](const std::string& step) { return find_method(step).predicts; });
}

}  // namespace adagp::method
