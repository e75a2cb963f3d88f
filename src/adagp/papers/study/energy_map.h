#pragma once
// What `adagp paper --energy` runs: how much energy a design saves, over buffer sizes and the
// energy of a DRAM access.

#include <functional>
#include <string>
#include <vector>

#include "adagp/papers/study/study.h"
#include "adagp/results/report/chart.h"

namespace adagp::study {

struct EnergyOptions {
  Options simulation;  // networks and machine; `models` "paper": the paper's 13
  std::string design = "max";
  std::string buffers = "1024..1048576*2";  // bytes
  std::string dram = "2..128*2";            // pJ per bit
  std::string value = "memory";             // buffer and DRAM accesses, or "total"
  double target = 34;                       // per cent saved
  bool fixed_buffer_energy = false;         // of an access; else CACTI's for the size
};

// Means over all runs of the simulation.
struct EnergyPoint {
  int64_t buffer = 0;
  double dram = 0;
  double saved = 0;  // share of the baseline's energy
  // Energy of the baseline's backward pass / forward pass, of the same kind, without leakage.
  double backward_over_forward = 0;
  double bound = 0;  // share saved if the predictor cost nothing: f r / (1 + r)
};

// One run of the simulation on its own, at the point where it saves most.
struct EnergyRun {
  std::string name;
  int64_t buffer = 0;
  double dram = 0, saved = 0;
  int64_t holds_up_to = 0;  // largest buffer with the target at some DRAM energy; 0: none
};

struct EnergyMap {
  std::string heading;
  std::string design, value;
  std::vector<int64_t> buffers;
  std::vector<double> dram;
  std::vector<EnergyPoint> points;  // by buffer, then DRAM
  std::vector<EnergyRun> runs;
  double gp_share = 0;  // f: of the batches
  double target = 0;    // share
  // r that the target needs when the predictor costs nothing; infinite: the target is above f.
  double needed_ratio = 0;

  const EnergyPoint& at(size_t buffer, size_t dram_index) const;
};

EnergyMap energy_map(const EnergyOptions& options,
                     const std::function<void(size_t done, size_t all)>& progress = {});

std::string energy_text(const EnergyMap& map);
std::string energy_csv(const EnergyMap& map);
std::string energy_json(const EnergyMap& map);
report::LineChart energy_chart(const EnergyMap& map);  // per cent saved over the buffer's size

}  // namespace adagp::study
