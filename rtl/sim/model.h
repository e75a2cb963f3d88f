#pragma once
// The Verilated machine with an outside memory. One build holds one configuration.

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "adagp/sim/rtl/cycle_model.h"
#include "adagp/sim/rtl/descriptor.h"

class Vadagp_top;
class VerilatedContext;
class VerilatedVcdC;

namespace adagp::rtl {

// The configuration that this executable was built for.
Machine built_machine();

struct RunOptions {
  double stalls = 0;  // probability that the outside memory is not ready in a cycle
  std::uint32_t seed = 1;
  std::uint64_t slack =
      1000;                 // the watchdog's cycles beyond the cycle model (and beyond the stalls)
  std::uint64_t every = 0;  // cycles of an entry of activity(); 0: none
};

// How many cycles of a part of a run each engine was busy, and how many each phase had.
struct Activity {
  std::uint64_t busy[kEngineCount] = {}, phases[kPhaseCount] = {};
};

class Model {
 public:
  Model(std::size_t beats, const std::string& vcd = "");
  ~Model();

  // Loads the program, runs the schedule and returns the counters. Throws Error with the state of
  // the sequencer when the machine stops with an error, when two units used one port of a memory in
  // the same cycle (unless `clash_allowed`), or when it does not end in the expected time.
  Counts run(const Program& program, const Schedule& schedule, const RunOptions& options);

  std::vector<std::uint32_t>& outside() { return outside_; }
  // Of the last run: the phase of each batch, as seen when the machine said that it was done.
  const std::vector<Phase>& phases() const { return phases_; }
  const std::vector<Activity>& activity() const { return activity_; }
  bool clash_allowed = false;

 private:
  void cycle();
  void serve_memory();
  void note_activity(std::uint64_t cycle, std::uint64_t every);
  Counts counts() const;
  std::string state() const;

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vadagp_top> top_;
  std::unique_ptr<VerilatedVcdC> trace_;
  std::size_t lanes_;
  std::vector<std::uint32_t> outside_;
  std::vector<Phase> phases_;
  std::vector<Activity> activity_;
  std::mt19937 random_;
  std::uint32_t stall_below_ = 0;  // of 2^32
  std::uint64_t beat_ = 0, left_ = 0;
  bool storing_ = false;
};

}  // namespace adagp::rtl
