#include "adagp/papers/study/energy_map.h"

#include <algorithm>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/published.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/sim/accel/energy.h"
#include "adagp/sim/accel/rtl_machine.h"

namespace adagp::study {
namespace {

constexpr size_t kMostSimulations = 200'000;
constexpr int64_t kMostDram = 100'000;

struct Saving {
  double saved, ratio;
};

double joules(const accel::Energy& energy, bool memory) {
  return memory ? energy.memory() : energy.total();
}

Saving simulate_saving(const accel::Point& point, const accel::Accelerator& machine, bool memory) {
  const accel::TrainingResult result =
      accel::simulate_training(*point.plan, machine, *point.dataflow, point.designs, point.run);
  const accel::DesignResult& ours = result.designs.front();
  const accel::BatchCost& exact = result.baseline.backprop;
  return {1 - (memory ? ours.memory_energy_ratio : ours.energy_ratio),
          joules(exact.energy_backward, memory) / joules(exact.energy_forward, memory)};
}

Study network_study(const EnergyOptions& options) {
  Options simulation = options.simulation;
  simulation.designs = options.design;
  if (simulation.models == "paper") {
    std::vector<std::string> names;
    for (const PaperNetwork& network : kPaperNetworks) names.emplace_back(network.model);
    simulation.models = core::join(names, ",");
  }
  Study study = make_study(simulation);
  if (study.points[0].designs.size() != 1 || !study.points[0].designs[0]->predicts) {
    throw UsageError("energy: --design '" + options.design + "', expected low, efficient or max");
  }
  for (const accel::Point& point : study.points) {
    accel::refuse_rtl(point.accelerator, "energy over buffer sizes");
  }
  return study;
}

}  // namespace

const EnergyPoint& EnergyMap::at(size_t buffer, size_t dram_index) const {
  return points.at(buffer * dram.size() + dram_index);
}

EnergyMap energy_map(const EnergyOptions& options,
                     const std::function<void(size_t, size_t)>& progress) {
  if (options.value != "memory" && options.value != "total") {
    throw UsageError("energy: --value '" + options.value + "', expected memory or total");
  }
  if (!(options.target > 0 && options.target < 100)) {
    throw UsageError(
        core::cat("energy: --target ", options.target, ", expected per cent between 0 and 100"));
  }
  EnergyMap map;
  map.buffers = parse_numbers(options.buffers, "--buffer", int64_t{1} << 40);
  for (const int64_t dram : parse_numbers(options.dram, "--dram", kMostDram)) {
    map.dram.push_back(static_cast<double>(dram));
  }
  const Study study = network_study(options);
  const size_t runs = study.points.size(), count = map.buffers.size() * map.dram.size() * runs;
  if (count > kMostSimulations) {
    throw UsageError(core::cat("energy: ", count, " simulations, expected at most ",
                               kMostSimulations, "; give shorter lists"));
  }
  std::vector<Saving> savings(count);
  const auto one = [&](size_t i) {
    const size_t place = i / runs;
    const accel::Point& point = study.points[i % runs];
    accel::Accelerator machine = point.accelerator;
    const int64_t buffer = map.buffers[place / map.dram.size()];
    if (options.fixed_buffer_energy) {
      machine.buffer_bytes = buffer;
    } else {
      accel::set_buffer(machine, buffer);
    }
    machine.energy.dram_pj_per_bit = map.dram[place % map.dram.size()];
    savings[i] = simulate_saving(point, machine, options.value == "memory");
  };
  one(0);  // what is out of range ends here
  accel::for_each(count, options.simulation.threads, one, [&](size_t done) {
    if (progress) progress(done, count);
  });

  const accel::Run& run = study.points[0].run;
  map.gp_share = run.schedule.predicted_share(run.epochs, run.batches_per_epoch);
  map.design = options.design;
  map.value = options.value;
  map.target = options.target / 100;
  map.needed_ratio = map.target < map.gp_share ? map.target / (map.gp_share - map.target)
                                               : std::numeric_limits<double>::infinity();
  map.heading =
      core::cat(runs == 1 ? std::string("1 run") : core::cat("mean of ", runs, " runs"), ": ",
                common_places(study), "; ", run.epochs, " epochs, schedule ", run.schedule.str());
  for (const std::string& name : labels(study)) map.runs.push_back({name});
  for (size_t place = 0; place < map.buffers.size() * map.dram.size(); ++place) {
    EnergyPoint point{map.buffers[place / map.dram.size()], map.dram[place % map.dram.size()]};
    for (size_t i = 0; i < runs; ++i) {
      const Saving& saving = savings[place * runs + i];
      EnergyRun& own = map.runs[i];
      if (place == 0 || saving.saved > own.saved) {
        own.buffer = point.buffer;
        own.dram = point.dram;
        own.saved = saving.saved;
      }
      if (saving.saved >= map.target) own.holds_up_to = std::max(own.holds_up_to, point.buffer);
      point.saved += saving.saved / static_cast<double>(runs);
      point.backward_over_forward += saving.ratio / static_cast<double>(runs);
      point.bound += map.gp_share * saving.ratio / (1 + saving.ratio) / static_cast<double>(runs);
    }
    map.points.push_back(point);
  }
  return map;
}

}  // namespace adagp::study
