#include "adagp/engine/train/warm_up.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>

#include <ATen/ATen.h>

#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/step_timer.h"
#include "adagp/gpu/device/choose_device.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::train {
namespace {

// The steps of every shape that a method's batches have, so that cuDNN's trials are behind it.
void warm_up_shapes(step::Session& s, const std::string& name) {
  const method::MethodEntry entry = method::find_method(name);
  if (entry.mixes) {
    for (const std::string& step : entry.mixes(s.config)) warm_up_shapes(s, step);
    return;
  }
  if (entry.predicts) {
    for (int i = 0; i < 2; ++i)
      step::backprop_step(s, s.task->example(s.config, s.config.batch, s.device));
    return;
  }
  if (entry.cheap != method::Cheap::kNone && !s.summaries) step::add_summaries(s);
  const auto method = entry.make(s);
  std::set<std::pair<schedule::Phase, std::vector<int64_t>>> done;
  std::vector<int64_t> epochs = method->batch_plan().turns_in(s.config.epochs);
  epochs.push_back(0);
  for (const int64_t epoch : epochs) {
    if (epoch >= s.config.epochs) continue;
    for (const auto phase : {schedule::Phase::kBackprop, schedule::Phase::kPredict}) {
      const bool cheap = phase == schedule::Phase::kPredict;
      if (cheap && entry.cheap == method::Cheap::kNone) continue;
      const plan::BatchContext context{epoch, s.config.epochs, phase};
      const plan::BatchShape shape = method->batch_plan().at(context);
      const int64_t count = shape.examples > 0 ? shape.examples : s.config.batch;
      const auto batch = [&] {
        return method->transform_batch(s.task->example(s.config, count, s.device), context);
      };
      s.first_block = shape.frozen_blocks;
      std::vector<int64_t> key = batch().inputs[0].sizes().vec();
      key.push_back(s.first_block);
      if (!done.insert({phase, key}).second) continue;
      for (int i = 0; i < 2; ++i) {
        cheap ? method->cheap_step(s, batch()) : method->exact_step(s, batch(), nullptr);
      }
    }
  }
  s.first_block = 0;
}

// Keys that change numbers and no step's shapes or operations. One that is missing here costs a few
// steps before the clock starts; one too many would put cuDNN's trials on the clock.
bool changes_numbers_alone(const std::string& key) {
  constexpr const char* kGroups[] = {"optim.",  "policy.",  "data.dir",  "seed",
                                     "weights", "schedule", "loss_limit"};
  const auto& cosmetic = config::cosmetic_keys();
  return std::find(cosmetic.begin(), cosmetic.end(), key) != cosmetic.end() ||
         std::any_of(std::begin(kGroups), std::end(kGroups),
                     [&](const char* group) { return key.starts_with(group); });
}

}  // namespace

std::string warm_up_key(const config::RunConfig& config, const std::string& device,
                        const std::string& input) {
  config::RunConfig copy = config;  // a binding could write to it
  core::Binding binding;
  config::bind(binding, copy);
  std::string key = device + " " + input;
  for (const auto& field : binding.fields()) {
    if (changes_numbers_alone(field.key)) continue;
    key += core::cat("\n", field.key, " = ", core::Binding::value_text(field));
  }
  return key;
}

void warm_up(const config::RunConfig& config, const task::TaskPtr& task,
             const task::NetMaker& make_net, bool known) {
  const at::Device device = device::choose_device(config.device);
  if (!device.is_cuda() || config.deterministic) return;
  static std::mutex mutex;
  static std::set<std::string> done;
  if (known) {
    const std::string key = warm_up_key(config, device.str(), task->input_name(config));
    const std::lock_guard<std::mutex> lock(mutex);
    if (!done.insert(key).second) return;
  }
  step::Session s = step::throw_away_session(config, task, make_net, false);
  const auto examples = [&](int64_t count) { return task->example(config, count, device); };
  try {
    warm_up_shapes(s, config.method);
  } catch (const c10::OutOfMemoryError&) {
    // The trainer's own step will say what does not fit, and what would.
    s.optimizer->clear_gradients();
    device::empty_cache(device);
    return;
  }
  step::forward_alone(s, examples(config.batch));
  step::evaluation_forward(s, examples(std::min<int64_t>(config.eval_batch, task->test_size())));
  device::synchronise(device);
}

}  // namespace adagp::train
