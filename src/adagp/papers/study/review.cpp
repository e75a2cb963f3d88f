#include "adagp/papers/study/review.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/energy_map.h"
#include "adagp/papers/study/pipeline.h"
#include "adagp/results/report/table.h"

namespace adagp::study {
namespace {

using nlohmann::json;

// How a result file says its answer.
std::string verdict_in(const json& result) {
  return core::json_field<std::string>(result, "verdict");
}

std::string table1_in(const json& result) {
  const json& mean = result.at("mean");
  const auto points = [&](const char* key) {
    return mean.at(key).is_number() ? report::signed_points(mean.at(key)) : std::string("-");
  };
  // First, whatever order a compiler computes arguments in: the message names the first wrong key.
  const auto networks = core::json_field<int64_t>(mean, "networks");
  return core::cat("ADA-GP - backprop, mean over ", networks, " networks: ", points("ours"),
                   " points (paper ", points("published"),
                   "); ADA-GP - skip: ", points("over_skip"), ". ",
                   core::json_field<int64_t>(result, "runs_open"), " runs open.");
}

std::string front_in(const json& result) {
  std::vector<std::string> front;
  for (const json& point : result.at("points")) {
    if (core::json_field<bool>(point, "front"))
      front.push_back(core::json_field<std::string>(point, "name"));
  }
  return core::cat("Front: ", core::join(front, "; "), ". ", verdict_in(result));
}

std::string term_in(const json& result) {
  return core::cat(core::join(core::json_field<std::vector<std::string>>(result, "defects"), " "),
                   " ", core::json_field<int64_t>(result, "runs_open"), " runs open.");
}

// First and last epoch, mean over the layers.
std::string figure15_in(const json& result) {
  const auto mean_at = [&](const char* key, bool last) {
    double sum = 0;
    int64_t count = 0;
    for (const json& layer : result.at("layers")) {
      if (!layer.contains(key)) continue;
      const json& value = last ? layer.at(key).back() : layer.at(key).front();
      if (!value.is_number()) continue;
      sum += value.get<double>();
      ++count;
    }
    return count > 0 ? core::shortest(std::round(1e6 * sum / double(count)) / 1e6)
                     : std::string("-");
  };
  const auto both = [&](const char* key) {
    return mean_at(key, false) + " -> " + mean_at(key, true);
  };
  return core::cat("Mean over the layers, first -> last epoch: MSE ", both("mse"),
                   ", MSE / mean(g^2) ", both("relative_mse"), ", cosine ", both("cosine"), ".");
}

struct Question {
  const char* id;
  const char* question;
  const char* command;
  const char* file;  // below the results' folder
  std::string (*read)(const json&);
};

constexpr const char* kRecipe = "configs/recipes/cifar10/resnet18.toml";

const std::vector<Question>& trained_questions() {
  static const std::vector<Question> questions{
      {"E1",
       "Does ADA-GP reach the accuracy of backprop (Table 1), and does dropping the batch too?",
       "adagp reproduce paper-table1 --data-dir DIR", "paper-table1/table1.json", table1_in},
      {"Table 2", "Does the Transformer reach the published rows by the stated SGD and plateau?",
       "adagp compare configs/recipes/multi30k-transformer-paper.toml --data-dir DIR "
       "--methods bp,adagp,skip --seeds 3 -o runs/reproduce/transformer",
       "transformer/compare.json", verdict_in},
      {"Table 3", "What does YOLO-v3 reach by the stated SGD and plateau, on generated shapes?",
       "adagp compare configs/recipes/synthetic-detection-yolov3-paper.toml "
       "--methods bp,adagp,skip --seeds 3 -o runs/reproduce/yolov3",
       "yolov3/compare.json", verdict_in},
      {"Q1", "How good are the predictions beside DNI and feedback alignment?",
       "adagp compare --budget RECIPE --methods \"bp@4/8/15,adagp,adagp[predictor.kind=dni],"
       "adagp[predictor.kind=dfa],adagp[predictor.kind=dfa-random],adagp[predictor.kind=vt]\" "
       "--budget-epochs 15 --seeds 3 -o runs/reproduce/predictors",
       "predictors/budget.json", verdict_in},
      {"Q2, C2",
       "Which schedule of BP and GP is best, and does the published one beat a fixed one?",
       "adagp sweep RECIPE --study schedules --epochs 15 --seeds 3 -o runs/reproduce/schedules",
       "schedules/sweep.json", front_in},
      {"Q2, again", "Is it so on a second network?",
       "adagp sweep configs/recipes/cifar10/mobilenet_v2.toml --data-dir DIR --study schedules "
       "--epochs 15 --seeds 3 -o runs/reproduce/schedules-mobilenet_v2",
       "schedules-mobilenet_v2/sweep.json", front_in},
      {"L1", "How large must the predictor be?",
       "adagp sweep RECIPE --over \"predictor.channels=4..64*2|predictor.pooled=2,4,8\" "
       "--epochs 15 --seeds 3 -o runs/reproduce/predictor-sizes",
       "predictor-sizes/sweep.json", front_in},
      {"Figs. 5b, 6",
       "Does it matter that the predictor takes one joint step, and pools after its convolution?",
       "adagp compare --budget configs/recipes/cifar10/vgg13_bn.toml --data-dir DIR --methods "
       "\"bp@4/8/15,adagp,adagp[predictor.steps=per-layer],adagp[predictor.order=pool-conv],skip\" "
       "--budget-epochs 15 --seeds 3 -o runs/reproduce/decisions",
       "decisions/budget.json", verdict_in},
      {"L2", "Does the input of the predictor carry anything?",
       "adagp compare RECIPE --methods bp,adagp,wrong-input,skip,zero,ema --epochs 15 --seeds 3 "
       "-o runs/reproduce/wrong-input",
       "wrong-input/compare.json", verdict_in},
      {"L2, inputs",
       "Does it matter what the predictor sees: zeros, noise or labels for activations?",
       "adagp compare --budget RECIPE --methods \"bp@4/8/15,adagp,adagp[predictor.input=zeros],"
       "adagp[predictor.input=noise],adagp[predictor.input=labels],skip\" --budget-epochs 15 "
       "--seeds 3 -o runs/reproduce/predictor-inputs",
       "predictor-inputs/budget.json", verdict_in},
      {"C1", "Is a plain MLP enough as the predictor?",
       "adagp compare --budget RECIPE --methods \"bp@4/8/15,adagp,adagp[predictor.kind=mlp],skip\" "
       "--budget-epochs 15 --seeds 3 -o runs/reproduce/mlp",
       "mlp/budget.json", verdict_in},
      {"rivals",
       "How does it compare with its rivals (DGL, DDG, FDG, features replay, critics, DNI, DFA)?",
       "adagp compare --budget RECIPE --methods \"bp@4/8/15,progressive+stored-loss@30,adagp,skip,"
       "modules[modules.signal=delayed],modules[modules.unlocked=true;modules.shrink=0.5],"
       "modules[modules.signal=replay],modules[modules.signal=auxiliary],"
       "modules[modules.signal=critic],modules[modules.signal=synthetic],"
       "modules[modules.signal=feedback],noise\" --budget-epochs 15 --seeds 3 "
       "-o runs/reproduce/rivals",
       "rivals/budget.json", verdict_in},
      {"L3", "Which thresholds should an adaptive schedule have?",
       "adagp compare --budget RECIPE --methods \"bp@4/8/15,auto\" --budget-epochs 15 --seeds 3 "
       "-o runs/reproduce/auto",
       "auto/budget.json", verdict_in},
      {"Fig. 15", "What does the falling error of the predictor say?",
       "adagp reproduce paper-figures --data-dir DIR", "paper-figures/fig15-vgg13_bn.json",
       figure15_in},
      {"term project", "Do the student project's figures hold?",
       "adagp reproduce term-project --data-dir DIR", "term-project/term-project.json", term_in},
  };
  return questions;
}

ReviewAnswer answer_from_file(const Question& question, const core::fs::path& results) {
  ReviewAnswer out{question.id, question.question, question.command,
                   core::cat("no ", question.file, " here: give the command"), false};
  const core::fs::path file = results / question.file;
  if (!core::fs::exists(file)) return out;
  const auto refuse = [&](std::string why) {
    if (!why.starts_with(file.string())) why = file.string() + ": " + why;
    throw DataError(
        core::cat(why, "; expected a result of '", question.command, "'; give that command again"));
  };
  try {
    out.answer = question.read(core::read_json(file));
    out.measured = true;
  } catch (const json::exception& error) {
    refuse(core::plain_message(error));
  } catch (const DataError& error) {
    refuse(error.what());
  }
  return out;
}

// Published and ours of the simulator's comparisons at one place.
ReviewAnswer answer_from_simulator(const std::string& id, const std::string& question,
                                   const std::string& place, const PaperResult& simulated) {
  std::vector<std::string> parts;
  for (const Comparison& one : simulated.comparisons) {
    if (one.place != place || !one.published || !one.ours) continue;
    parts.push_back(core::cat(one.what, ": published ", core::shortest(*one.published), ", ours ",
                              figure_text(*one.ours)));
  }
  return {id, question, "adagp paper", core::join(parts, "; ") + " (simulated, no error bar).",
          !parts.empty()};
}

// The speeds of the most copies.
ReviewAnswer simulated_scaling() {
  PipelineOptions options;
  options.accelerator.models = "gpt2";
  options.accelerator.inputs = "tokens1024";
  options.accelerator.accelerators = "tpu-128";
  options.accelerator.batches = "8";
  options.stages = options.micro_batches = "1";
  options.bandwidth = 25;
  options.latency = 2000;
  options.copies = "1024";
  const PipelineRun most = run_pipelines(options).runs[0];
  const auto speed = [&](double time) { return core::fixed(most.ideal / time, 2); };
  return {"Q3, scale", "Does it scale to many devices?",
          "adagp pipeline --model gpt2 --input tokens1024 --accelerator tpu-128 --batch 8 "
          "--stages 1 --micro-batches 1 --bandwidth 25 --latency 2000 --copies 1..1024*2",
          core::cat("Speed of a device with ", most.copies,
                    " copies, beside backprop on one: "
                    "backprop ",
                    speed(most.steady.exact), ", two batches per exchange ",
                    speed(most.steady.accumulated), ", GP : BP = 1 : 1 ", speed(most.steady.mixed),
                    " (simulated, no error bar)."),
          true};
}

ReviewAnswer simulated_energy() {
  EnergyOptions options;
  options.simulation.models = "paper";
  options.simulation.products_only = true;
  const EnergyMap map = energy_map(options);
  double most = 0;
  for (const EnergyPoint& point : map.points) most = std::max(most, point.saved);
  const auto percent = [](double share) { return core::fixed(100 * share, 1) + " %"; };
  return {"C3, energy", "Where do 34 % less energy of memory accesses hold?",
          "adagp paper --energy",
          core::cat("Most saved at any buffer size and DRAM energy: ", percent(most), " of ",
                    percent(map.target), "; dropping the GP batches saves ", percent(map.gp_share),
                    " (simulated, no error bar)."),
          true};
}

}  // namespace

std::vector<ReviewAnswer> answer_review(const core::fs::path& results,
                                        const PaperResult& simulated) {
  std::vector<ReviewAnswer> out;
  for (const Question& question : trained_questions()) {
    out.push_back(answer_from_file(question, results));
  }
  out.push_back(simulated_scaling());
  out.push_back(simulated_energy());
  out.push_back(answer_from_simulator("Fig. 17", "Is the accelerator 1.46 times as fast?",
                                      "Fig. 17", simulated));
  out.push_back(
      answer_from_simulator("Q3, L4", "Does it go together with pipelines?", "Fig. 20", simulated));
  out.push_back(answer_from_simulator("C3", "Are 34 % less energy of memory accesses in reach?",
                                      "Fig. 21", simulated));
  return out;
}

std::string review_text(const std::vector<ReviewAnswer>& answers, bool markdown) {
  std::string text;
  if (markdown) {
    report::Table table({"<id", "<question", "<command", "<answer"});
    for (const ReviewAnswer& one : answers) {
      table.add_row({one.id, one.question, "`" + one.command + "`", one.answer});
    }
    text = table.markdown();
  } else {
    for (const ReviewAnswer& one : answers) {
      text +=
          core::cat(one.id, ": ", one.question, "\n  ", one.command, "\n  ", one.answer, "\n\n");
    }
  }
  return text + core::cat("\nRECIPE: for example ", kRecipe,
                          " with --data-dir DIR. Every command resumes.\n");
}

std::string review_json(const std::vector<ReviewAnswer>& answers) {
  auto out = nlohmann::ordered_json::array();
  for (const ReviewAnswer& one : answers) {
    out.push_back({{"id", one.id},
                   {"question", one.question},
                   {"command", one.command},
                   {"answer", one.answer},
                   {"measured", one.measured}});
  }
  return out.dump(2) + "\n";
}

}  // namespace adagp::study
