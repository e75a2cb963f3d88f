#include "adagp/papers/study/paper.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/details.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/published.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/sim/accel/sweep.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::study {
namespace {

NetworkResult measure(const PaperOptions& paper, const std::string& model, const std::string& input,
                      const std::string& dataflow) {
  const Study study = make_study(options_for(paper, model, input, dataflow));
  const Details details = detail(study, 0);
  const accel::Run& run = study.points[0].run;
  NetworkResult out{model, input, dataflow};
  out.low = result_of(details, accel::kLow).speedup;
  out.efficient = result_of(details, accel::kEfficient).speedup;
  const accel::DesignResult& max = result_of(details, accel::kMax);
  out.max = max.speedup;
  out.baseline_batch = details.training.baseline.backprop.cycles.total();
  out.memory_energy = max.memory_energy_ratio;
  out.energy = max.energy_ratio;
  out.memory_joules = {details.training.baseline.energy.memory(),
                       result_of(details, accel::kEfficient).energy.memory(), max.energy.memory()};
  out.backward_over_forward = accel::backward_over_forward(details.layers);
  const double share = run.schedule.predicted_share(run.epochs, run.batches_per_epoch);
  out.bound = accel::predicted_speedup(out.backward_over_forward, share, 0);
  return out;
}

// Share of GP batches in a long epoch; the number of batches hardly moves it.
double share_of(const PaperOptions& paper) {
  const std::string name = options_for(paper, "", "", "").schedule;
  return schedule::Schedule::parse(name, paper.epochs).predicted_share(paper.epochs, 1000);
}

Note mean_note(const std::vector<const NetworkResult*>& networks) {
  return {Reason::kComputed,
          core::cat("by these formulas the backward pass costs ",
                    core::fixed(mean(networks, &NetworkResult::backward_over_forward), 2),
                    " forward passes in the mean, so a predictor that costs nothing would give ",
                    core::fixed(mean(networks, &NetworkResult::bound), 3),
                    "; what the second array cannot hide takes it to ",
                    core::fixed(mean(networks, &NetworkResult::max), 3))};
}

Note largest_note(const NetworkResult& top, double published, double share) {
  if (published * (1 - share) >= 1) {
    return {Reason::kComputed,
            core::cat("with ", core::fixed(share, 3), " of the batches in phase GP no BW/FW gives ",
                      core::fixed(published, 2),
                      ": the most is 1/(1-f) = ", core::fixed(1 / (1 - share), 2))};
  }
  // (1+r) / (1 + r(1-f)) = s, solved for r.
  const double needed = (published - 1) / (1 - published * (1 - share));
  return {Reason::kComputed,
          core::cat("ours is ", top.network, " with BW/FW ",
                    core::fixed(top.backward_over_forward, 2), "; ", core::fixed(published, 2),
                    " with a free predictor belongs to BW/FW ", core::fixed(needed, 2))};
}

void compare_speedups(const PaperOptions& paper, PaperResult& result) {
  for (const SpeedupFigure& figure : kSpeedups) {
    for (size_t i = 0; i < kPaperInputs.size(); ++i) {
      const auto networks = chosen(result.networks, figure.dataflow, kPaperInputs[i]);
      if (networks.empty()) continue;
      const std::string where = core::cat("MAX, ", figure.dataflow, ", ", kPaperInputNames[i]);
      add(result,
          {figure.place, where + ": mean speed-up (x)", figure.mean[i],
           mean(networks, &NetworkResult::max)},
          mean_note(networks));
      if (figure.largest[i] == 0) continue;
      const NetworkResult& top =
          **std::max_element(networks.begin(), networks.end(),
                             [](const auto* a, const auto* b) { return a->max < b->max; });
      add(result, {figure.place, where + ": largest speed-up (x)", figure.largest[i], top.max},
          largest_note(top, figure.largest[i], share_of(paper)));
    }
  }
}

// As in the figure: weight-stationary, ImageNet.
void compare_energy(const PaperOptions& paper, PaperResult& result) {
  const auto networks = chosen(result.networks, "ws", "imagenet");
  if (networks.empty()) return;
  double efficient = 0, largest = 0;
  for (const NetworkResult* one : networks) {
    efficient += one->memory_joules[1] / one->memory_joules[0] / double(networks.size());
    largest = std::max(largest, one->memory_joules[0]);
  }
  const double share = share_of(paper);
  const Note note{
      Reason::kNotStated,
      core::cat(
          "if a third of the accesses were the forward pass's, a GP share of ",
          core::fixed(share, 3), " would leave ", core::fixed(1 - share * 2 / 3, 2),
          " before the predictor's own accesses, which we count; buffer sizes and DRAM energy of "
          "the published figure are not stated, ours are unbounded and 8 pJ/bit (adagp paper "
          "--energy varies them)")};
  const std::string what = ", ws, ImageNet, mean: energy of memory accesses (ratio)";
  add(result,
      {"Fig. 21", "MAX" + what, kMemoryEnergyRatio, mean(networks, &NetworkResult::memory_energy)},
      note);
  add(result, {"Fig. 21", "Efficient" + what, kMemoryEnergyRatio, efficient, {}, true}, note);
  add(result,
      {"Fig. 21", "baseline, ws, ImageNet: largest network (J), paper: end of the axis",
       kEnergyAxis, largest},
      {Reason::kUnlike,
       "the end of an axis, not a value; images, batch size and energies of an access of the "
       "published run are not stated"});
}

void compare_mean(PaperResult& result) {
  if (result.networks.empty()) return;
  double sum = 0;
  for (const NetworkResult& one : result.networks) sum += one.max;
  add(result,
      {"text", "abstract: MAX, mean over networks, data sets and dataflows (x)", kMeanSpeedup,
       sum / static_cast<double>(result.networks.size())},
      {Reason::kComputed, "as Figs. 17 to 19"});
}

struct PublishedRun {
  const accel::Design* design;
  double cycles, speedup;
};

void compare_run(const PaperOptions& paper, PaperResult& result, const std::string& place,
                 const std::string& model, const std::string& input, double published_baseline,
                 const std::vector<PublishedRun>& published) {
  if (!known(model, input)) {
    result.absent.push_back(model);
    return;
  }
  const Study study = make_study(options_for(paper, model, input, "ws"));
  const Details details = detail(study, 0);
  const accel::Run& run = study.points[0].run;
  const Note cycles_note{
      Reason::kNotStated,
      core::cat("epochs, batch size, sequence length or image size and vector passes of the "
                "published run are not stated; ours is ",
                run.epochs, run.epochs == 1 ? " epoch of " : " epochs of ", run.batches_per_epoch,
                " batches of ", paper.batch)};
  add(result,
      {place, model + ", ws: baseline (cycles)", published_baseline,
       static_cast<double>(details.training.baseline.cycles.total())},
      cycles_note);
  const double r = accel::backward_over_forward(details.layers);
  for (const auto& [design, cycles, speedup] : published) {
    const accel::DesignResult& ours = result_of(details, *design);
    add(result,
        {place, core::cat(model, ", ws: ", design->name, " (cycles)"), cycles,
         static_cast<double>(ours.cycles.total())},
        cycles_note);
    add(result,
        {place, core::cat(model, ", ws: ", design->name, ": speed-up (x)"), speedup, ours.speedup},
        {Reason::kComputed,
         core::cat("the schedule puts ",
                   core::fixed(run.schedule.predicted_share(run.epochs, run.batches_per_epoch), 3),
                   " of the batches into GP and BW/FW is ", core::fixed(r, 2), "; ",
                   core::fixed(speedup, 2), " with a free predictor belongs to a share of ",
                   core::fixed((1 + r) * (1 - 1 / speedup) / r, 2),
                   ", which the published schedule has after 13 to 17 epochs")});
  }
}

// The notes above say how much GP spares; without a GP batch there is one reason for everything.
void explain_without_gp(const PaperOptions& paper, PaperResult& result) {
  for (Comparison& one : result.comparisons) {
    if (one.note.reason == Reason::kNone) continue;
    one.note = {Reason::kComputed,
                core::cat("all batches of ", paper.epochs, paper.epochs == 1 ? " epoch" : " epochs",
                          " are warm-up: nothing is predicted and nothing spared; the published "
                          "runs have 90 epochs")};
  }
}

}  // namespace

bool known(const std::string& model, const std::string& input) {
  const auto inputs = zoo::inputs(model);
  return std::find(inputs.begin(), inputs.end(), input) != inputs.end();
}

const accel::DesignResult& result_of(const Details& details, const accel::Design& design) {
  for (const auto& result : details.training.designs) {
    if (result.design == &design) return result;
  }
  return details.training.baseline;
}

Options options_for(const PaperOptions& paper, const std::string& model, const std::string& input,
                    const std::string& dataflow) {
  Options options;
  options.models = model;
  options.inputs = input;
  options.arrays = paper.array;
  options.dataflows = dataflow;
  options.batches = std::to_string(paper.batch);
  options.designs = "baseline,low,efficient,max";
  options.epochs = paper.epochs;
  options.schedule = paper.epochs == 90 ? "paper" : "auto";
  options.products_only = !paper.vector_passes;
  return options;
}

std::vector<const NetworkResult*> chosen(const std::vector<NetworkResult>& networks,
                                         const std::string& dataflow, const std::string& input) {
  std::vector<const NetworkResult*> out;
  for (const NetworkResult& one : networks) {
    if (one.dataflow == dataflow && (input.empty() || one.input == input)) out.push_back(&one);
  }
  return out;
}

double mean(const std::vector<const NetworkResult*>& networks, double NetworkResult::*field) {
  double sum = 0;
  for (const NetworkResult* one : networks) sum += one->*field;
  return sum / static_cast<double>(networks.size());
}

PaperResult compare_with_paper(const PaperOptions& options,
                               const std::function<void(size_t, size_t)>& progress) {
  if (parse_arrays(options.array, "--array").size() != 1) {
    throw UsageError("paper: --array is '" + options.array + "', expected one array, as 12x15");
  }
  PaperResult result;
  for (const PaperNetwork& network : kPaperNetworks) {
    bool absent = false;
    for (const char* input : kPaperInputs) {
      if (!known(network.model, input)) {
        absent = true;
        continue;
      }
      for (const SpeedupFigure& figure : kSpeedups) {
        result.networks.push_back({network.model, input, figure.dataflow});
      }
    }
    if (absent) result.absent.emplace_back(network.model);
  }
  const size_t count = result.networks.size();
  accel::for_each(
      count, options.threads,
      [&](size_t i) {
        NetworkResult& one = result.networks[i];
        one = measure(options, one.network, one.input, one.dataflow);
      },
      [&](size_t done) {
        if (progress) progress(done, count);
      });
  compare_layers(options, result);
  compare_speedups(options, result);
  compare_mean(result);
  compare_energy(options, result);
  compare_run(options, result, "Table 2", "transformer", "multi30k", kTransformerBaseline,
              {{&accel::kMax, kTransformerOurs, kTransformerSpeedup}});
  compare_run(options, result, "Table 3", "yolov3", "voc", kYoloBaseline,
              {{&accel::kEfficient, kYoloEfficient, kYoloEfficientSpeedup},
               {&accel::kMax, kYoloMax, kYoloMaxSpeedup}});
  compare_equal_budget(options, result);
  compare_pipelines(options, result);
  if (share_of(options) == 0) explain_without_gp(options, result);
  compare_resources(result);
  compare_accuracy(options, result);
  std::stable_sort(result.comparisons.begin(), result.comparisons.end(),
                   [](const Comparison& a, const Comparison& b) { return a.place < b.place; });
  return result;
}

}  // namespace adagp::study
