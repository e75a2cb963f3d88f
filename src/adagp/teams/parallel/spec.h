#pragma once
// The option --parallel: "data", "pipeline=gpipe,micro-batches=4", "data,pipeline=dapple,stages=2",
// each with "local=4" to start the processes here.

#include <cstdint>
#include <string>

namespace adagp::parallel {

// The pipeline of method modules, whose parts learn from older gradients.
inline constexpr const char* kDecoupled = "decoupled";

struct Spec {
  std::string pipeline;       // name of a schedule; empty: none
  int64_t stages = 0;         // devices of one pipeline; 0: all processes, or 1 without a pipeline
  int64_t micro_batches = 0;  // 0: as many as accumulate says, or as there are stages
  int64_t chunks = 1;         // stages per process, of `interleaved`
  bool data = false;          // copies of the network (or pipeline) share the batch
  int64_t local = 0;          // processes to start on this machine; 0: a launcher did
  double timeout = 60;        // seconds
  std::string backend = "auto";
  bool recompute = false;             // a stage keeps its inputs and runs forward again
  bool sync_norm = false;             // batch norm over the batches of all copies
  double copy_bandwidth = 0;          // slows the exchange between copies: bytes per second
  double copy_latency = 0;            // slows it: seconds of a message
  std::string timings;                // file for the times of a pipeline's ops; empty: none
  std::string predict = "summaries";  // what copies average in GP: summaries or gradients

  bool any() const { return data || !pipeline.empty(); }
};

// Throws UsageError: unknown words (with the nearest), numbers out of range, and what does not go
// together.
Spec parse_spec(const std::string& text);
// For help texts.
std::string spec_help();

// How many copies of the pipeline `world` processes make, with stages filled in. Throws UsageError
// with the numbers when they do not divide.
struct Shape {
  int copies = 1;  // data parallel
  int stages = 1;  // devices of each pipeline
};
Shape shape_of(const Spec& spec, int world);

}  // namespace adagp::parallel
