#pragma once
// A small world in which training takes milliseconds.

#include <sstream>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/step/session.h"
#include "adagp/engine/train/build.h"

namespace adagp::small {

inline config::RunConfig config(const std::string& method = "adagp") {
  config::RunConfig c;
  c.model.name = "resnet8";
  c.model.form = "cifar";
  c.model.classes = 10;
  c.model.width_divisor = 2;
  c.method = method;
  c.epochs = 3;
  c.batch = 10;
  c.eval_batch = 25;
  c.threads = 1;
  c.device = "cpu";
  c.data.synthetic_size = 16;
  c.data.synthetic_train = 60;
  c.data.synthetic_test = 50;
  c.augment.crop = "pad";
  c.augment.workers = 0;
  c.schedule = "1ep bp, 2:1";
  c.optim.lr = 0.02;
  c.probe_every = "3ba";
  c.log_every = "1ep";
  return c;
}

inline const task::TaskPtr& task() {
  static const task::TaskPtr opened = task::open_task(config());
  return opened;
}

// A session with everything a scheduled method needs.
inline step::Session session(const config::RunConfig& c) {
  at::set_num_threads(1);
  step::Session s = step::make_session(c, task(), task::build_net(c, *task()));
  s.net->train();
  s.set_lr(c.optim.lr);
  step::add_summaries(s);
  step::add_predictor(s, 6);
  return s;
}

inline data::Batch batch(const config::RunConfig& c, int64_t position = 0) {
  const auto source = task()->batches(c, task::Use::kTrain, at::kCPU);
  source->seek(0, position);
  return source->next();
}

// One answer for all examples of ten classes has at least log(10) = 2.303; less, with a distance,
// is something that was learnt.
constexpr double kLossOfConstantAnswers = 2.25;

// Mean losses of the training batches, by epoch of a run.
inline std::vector<double> train_losses(const core::fs::path& run) {
  std::vector<double> out;
  std::istringstream lines(core::read_file(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.value("kind", "") == "epoch") out.push_back(record.at("train_loss"));
  }
  return out;
}

inline std::map<std::string, at::Tensor> copy_of(const torch::nn::Module& net) {
  std::map<std::string, at::Tensor> out;
  for (const auto& item : net.named_parameters()) out[item.key()] = item.value().detach().clone();
  for (const auto& item : net.named_buffers()) out[item.key()] = item.value().clone();
  return out;
}

}  // namespace adagp::small
