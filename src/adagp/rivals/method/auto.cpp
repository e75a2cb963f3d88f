// auto: measures on the way which cheap steps pay, and uses those alone (method/controller.h).

#include <optional>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/saved_number.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/backprop.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/method/controller.h"
#include "adagp/rivals/method/heldout.h"
#include "adagp/rivals/method/heldout_examples.h"
#include "adagp/rivals/method/weight_average.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

using schedule::Phase;

ControllerOptions options_of(const config::RunConfig& config) {
  const auto& c = config.parts.get<rivals::AutoOptions>();
  return {c.steps, c.window, c.pairs, c.most, c.confidence, c.probe_share};
}

at::Tensor as_tensor(const std::string& text) {
  at::Tensor bytes = at::empty({static_cast<int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.mutable_data_ptr<uint8_t>());
  return bytes;
}

std::string as_text(const at::Tensor& bytes) {
  const at::Tensor host = bytes.cpu().contiguous();
  const auto* first = host.const_data_ptr<uint8_t>();
  return {first, first + host.numel()};
}

class Auto : public Backprop, public StepChooser {
 public:
  explicit Auto(step::Session& s) : session_(s), controller_(options_of(s.config)) {
    require_alone(s);
    require_losses(s);
    for (const std::string& name : s.config.parts.get<rivals::AutoOptions>().steps) {
      const MethodEntry entry = find_method(name);
      if (entry.learns_itself) {
        throw UsageError("auto.steps: '" + name +
                         "' learns from every exact batch in its own way; leave it out");
      }
      if (entry.cheap != Cheap::kScheduled || entry.select) {
        throw UsageError("auto.steps: '" + name +
                         "' has no cheap step that could be mixed in; choose among those of 'adagp "
                         "list methods' that speak of GP batches");
      }
      steps_.push_back({name, entry.predicts, entry.make(s)});
      for (const int64_t side : steps_.back().method->batch_plan().image_sides) {
        plan_.image_sides.push_back(side);
      }
    }
    heldout_.emplace(s);
    // What is only done the first time (cuDNN's trials) is not to be on the clock.
    if (s.device.is_cuda()) heldout_->loss(s);
  }

  StepChooser* step_chooser() override { return this; }
  Phase begin(step::Session& s, const plan::BatchContext&) override {
    if (!std::exchange(begun_, true)) warn_of_short_runs(s.config);
    if (leads_in()) {
      learns_ = is_time_to_learn();
      return Phase::kBackprop;
    }
    const Window& window = controller_.window();
    if (place_ == 0 && window.measured) {
      before_ = *after_;
      device::synchronise(s.device);
      spent_ = 0;
      started_ = s.trained_seconds();
    }
    const bool cheap = is_cheap(window, place_);
    learns_ = !cheap && is_time_to_learn();
    return cheap ? Phase::kPredict : Phase::kBackprop;
  }

  void end(step::Session& s, double macs) override {
    if (leads_in()) {
      ++exact_;
      average_.add(s);
      if (2 * average_.count() >= controller_.window().batches) after_ = measure(s);
      return;
    }
    if (!is_cheap(controller_.window(), place_)) ++exact_;
    spent_ += macs;
    // The second half of a window speaks for it.
    const bool measured = controller_.window().measured;
    if (measured && 2 * place_ >= controller_.window().batches) average_.add(s);
    if (++place_ < controller_.window().batches) return;
    place_ = 0;
    double seconds = 0, loss = 0;
    if (measured) {
      device::synchronise(s.device);
      seconds = s.config.parts.get<rivals::AutoOptions>().clock == "counted"
                    ? spent_ / kMacsPerSecond
                    : s.trained_seconds() - started_;
      loss = measure(s);
    }
    after_ = measured ? std::optional(loss) : std::nullopt;
    for (const Decision& decision : controller_.finish(seconds, before_, loss)) {
      nlohmann::json record = to_json(decision);
      core::log_info(core::cat("auto: ", decision.what, " ", decision.step,
                               " at k = ", decision.tried, ": ", core::fixed(decision.rate, 4),
                               " of loss a second beside bp's ", core::fixed(decision.bp_rate, 4),
                               ", advantage at least ", core::fixed(decision.low, 4), " after ",
                               decision.pairs, " pairs"));
      record["kind"] = "decision";
      record["method"] = "auto";
      record["candidate"] = record["step"];  // records have the number of a batch there
      record["used_k"] = controller_.k();
      records_.push_back(record);
    }
  }

  void advance(step::Session& s) override {
    if (Method* learner = learning()) learner->advance(s);
  }
  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes* probe) override {
    if (Method* learner = learning()) return learner->exact_step(s, batch, nullptr);
    return Backprop::exact_step(s, batch, probe);
  }
  step::StepResult cheap_step(step::Session& s, const data::Batch& batch) override {
    return step().cheap_step(s, batch);
  }
  Traits traits() const override {
    return {.cheap_needs_data = current() < 0 || step().traits().cheap_needs_data,
            .cheap_does_work = current() >= 0 && step().traits().cheap_does_work};
  }
  Kinds kinds() const override { return {.exact = learns_ ? 1 : 0, .cheap = current()}; }
  int64_t cheap_kinds() const override { return static_cast<int64_t>(steps_.size()); }
  void choose_for_warm_up(int64_t kind) override { on_trial_ = kind; }
  const plan::BatchPlan& batch_plan() const override { return plan_; }
  data::Batch transform_batch(const data::Batch& batch,
                              const plan::BatchContext& context) const override {
    return context.cheap() ? step().transform_batch(batch, context) : batch;
  }

  double cost(const step::Session& s, const Costs& costs, const plan::BatchContext& context,
              int64_t examples) const override {
    const Method* who = context.cheap() ? &step() : learning();
    return who != nullptr ? who->cost(s, costs, context, examples)
                          : Backprop::cost(s, costs, context, examples);
  }
  double take_other_cost(const Costs& costs) override {
    return static_cast<double>(std::exchange(readings_, 0) * heldout_->examples()) *
           costs.forward();
  }

  std::vector<nlohmann::json> take_records() override { return std::exchange(records_, {}); }

  std::map<std::string, at::Tensor> state() const override {
    nlohmann::json own{{"controller", controller_.state()},
                       {"place", place_},
                       {"exact", exact_},
                       {"before", core::shortest(before_)},
                       {"spent", spent_},
                       {"started", started_},
                       {"after", after_ ? core::shortest(*after_) : ""}};
    std::map<std::string, at::Tensor> out{{"auto", as_tensor(own.dump())}};
    for (const Step& step : steps_) {
      for (const auto& [name, value] : step.method->state()) out[step.name + "/" + name] = value;
    }
    for (const auto& [name, value] : average_.state(session_)) out["average/" + name] = value;
    return out;
  }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    try {
      const auto own = core::parse_json(as_text(saved(state, "auto")), "checkpoint, state of auto");
      controller_.load_state(own.at("controller"));
      own.at("place").get_to(place_);
      own.at("exact").get_to(exact_);
      before_ =
          core::saved_number(own.at("before").get<std::string>(), "method state: auto's before");
      own.at("spent").get_to(spent_);
      own.at("started").get_to(started_);
      const auto after = own.at("after").get<std::string>();
      after_ = after.empty()
                   ? std::nullopt
                   : std::optional(core::saved_number(after, "method state: auto's after"));
    } catch (const nlohmann::json::exception& error) {
      throw DataError(core::cat("method state: of auto: ", core::plain_message(error)));
    }
    const auto under = [&](const std::string& prefix) {
      std::map<std::string, at::Tensor> part;
      for (const auto& [name, value] : state) {
        if (name.starts_with(prefix)) part[name.substr(prefix.size())] = value;
      }
      return part;
    };
    for (const Step& step : steps_) step.method->load_state(under(step.name + "/"));
    average_.load_state(session_, under("average/"));
  }

 private:
  void warn_of_short_runs(const config::RunConfig& config) const {
    const auto& c = config.parts.get<rivals::AutoOptions>();
    const double first = static_cast<double>(c.pairs * c.window) / c.probe_share;
    const double batches = static_cast<double>(config.epochs) *
                           static_cast<double>(session_.task->train_size() - c.heldout) /
                           static_cast<double>(config.batch);
    if (batches >= first) return;
    core::log_warning(core::cat("auto: the run has about ", core::fixed(batches, 0),
                                " batches and the first trial ends after ", core::fixed(first, 0),
                                ": nothing will be tried; lower auto.window or auto.pairs, or "
                                "raise auto.probe_share"));
  }

  struct Step {
    std::string name;
    bool predicts;
    std::unique_ptr<Method> method;
  };
  static constexpr double kMacsPerSecond = 1e12;  // of the counted clock; any number would do

  // Which step a cheap batch takes.
  int64_t current() const { return on_trial_ >= 0 ? on_trial_ : controller_.window().step; }
  Method& step() const { return *steps_.at(static_cast<size_t>(current())).method; }
  // Before the first window of a trial there is half a window of plain backprop, so that its loss
  // before is a mean's, as all that follow.
  bool leads_in() const { return place_ == 0 && controller_.window().measured && !after_; }
  // A predictor learns from every exact batch while it is on trial or in use, and now and then
  // before, as it would come to its trial without any knowledge.
  bool is_time_to_learn() const {
    const int64_t now =
        controller_.window().step >= 0 ? controller_.window().step : controller_.step();
    const bool used = now >= 0 && steps_[static_cast<size_t>(now)].predicts;
    return learner() != nullptr && (used || exact_ % kLearnEvery == 0);
  }
  static constexpr int64_t kLearnEvery = 10;
  Method* learner() const {
    for (const Step& step : steps_) {
      if (step.predicts) return step.method.get();
    }
    return nullptr;
  }
  Method* learning() const { return learns_ ? learner() : nullptr; }
  double measure(step::Session& s) {
    ++readings_;
    WeightAverage::Scope steadier(average_, s);
    const double loss = heldout_->loss(s);
    steadier.end();
    average_.clear();
    return loss;
  }

  step::Session& session_;
  plan::BatchPlan plan_;  // the sides of images that its steps may need
  Controller controller_;
  std::optional<HeldOut> heldout_;
  std::vector<Step> steps_;
  int64_t place_ = 0;      // in the window
  int64_t exact_ = 0;      // batches so far
  int64_t on_trial_ = -1;  // a step in the warm-up
  bool begun_ = false;
  bool learns_ = false;
  // Of the present window: loss before it, multiplications, when it began.
  double before_ = 0, spent_ = 0, started_ = 0;
  std::optional<double> after_;  // the window before was measured: its loss
  int64_t readings_ = 0;         // of the held-out loss, not yet in the account
  WeightAverage average_;        // over the second half of a measured window
  std::vector<nlohmann::json> records_;
};

}  // namespace

MethodEntry entries::automatic() {
  return {
      .name = "auto",
      .about = "measures which of auto.steps pay, and mixes in those alone",
      .cheap = Cheap::kDecided,
      .make = maker<Auto>(),
      .select = {all_but_heldout_rule, false},
      .mixes = [](const config::RunConfig& c) { return c.parts.get<rivals::AutoOptions>().steps; }};
}

}  // namespace adagp::method
