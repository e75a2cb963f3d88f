#include "adagp/train/build.h"

#include <algorithm>
#include <thread>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/train/equal_time.h"
#include "adagp/train/methods.h"
#include "adagp/train/step_times.h"
#include "adagp/train/trainer.h"
#include "adagp/train/weights.h"

namespace adagp::train {
void check_names(const Config& config) {
  validate(config);
  find_method(config.method);
  models::find(config.model.name);
  predictor::check(config.predictor);
}

void set_threads(const Config& config) {
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  at::set_num_threads(static_cast<int>(config.threads > 0 ? config.threads : cores));
}

void resolve(Config& config, const data::Splits& splits) {
  for (const auto& entry : models::registry()) {  // a network of the user's own has no forms
    if (config.model.form != "auto" || entry.name != config.model.name) continue;
    config.model.form = models::form_name(models::form_for(entry, splits.height, splits.width));
  }
  const auto classes = static_cast<int64_t>(splits.classes.size());
  if (config.model.classes == 0) config.model.classes = classes;
  if (config.model.classes < classes) {
    throw UsageError(
        core::cat("model.classes = ", config.model.classes, ": the data set has ", classes));
  }
  config.data.mean = splits.mean;
  config.data.std = splits.std;
  if (config.augment.crop == "auto") {
    config.augment.crop = splits.train->resident().defined() ? "pad" : "resized";
  }
}

std::shared_ptr<models::Net> build_net(const Config& config) {
  at::manual_seed(static_cast<uint64_t>(config.seed));
  models::Options options;
  options.form = models::parse_form(config.model.form);
  options.classes = config.model.classes;
  options.width_divisor = config.model.width_divisor;
  auto net = models::build(config.model.name, options);
  if (!config.weights.empty()) {
    load_state_dict(*net, io::load_tensors(config.weights).tensors, config.weights);
  }
  return net;
}

data::LoaderOptions loader_options(const Config& config, const data::Splits& splits, bool training,
                                   at::Device device) {
  data::LoaderOptions out;
  out.batch = training ? config.batch : config.eval_batch;
  out.shuffle = out.drop_last = training;
  out.seed = static_cast<uint64_t>(config.seed);
  out.workers = config.augment.workers;
  out.device = device;
  if (config.precision == "bf16") out.dtype = at::kBFloat16;
  out.augment.train = training;
  out.augment.crop = config.augment.crop;
  out.augment.pad = config.augment.pad;
  out.augment.flip = config.augment.flip;
  out.augment.height = splits.height;
  out.augment.width = splits.width;
  out.augment.mean = splits.mean;
  out.augment.std = splits.std;
  return out;
}

Summary train(Config config, const core::fs::path& folder, bool overwrite) {
  check_names(config);
  return train(config, data::open(config.data), folder, overwrite);
}

Summary train(Config config, const data::Splits& splits, const core::fs::path& folder,
              bool overwrite) {
  check_names(config);
  set_threads(config);
  resolve(config, splits);
  RunFolder run(folder, config, overwrite);
  if (run.finished()) return run.summary();
  fix_budget(config, splits);
  warm_up(config, splits);
  return Trainer(config, splits, build_net(config)).run(run);
}

Summary train(Config config, const data::Splits& splits, std::shared_ptr<models::Net> net,
              const core::fs::path& folder, bool overwrite) {
  validate(config);
  find_method(config.method);
  set_threads(config);
  resolve(config, splits);
  RunFolder run(folder, config, overwrite);
  if (run.finished()) return run.summary();
  return Trainer(config, splits, std::move(net)).run(run);
}

}  // namespace adagp::train
