// How fast pipelines are simulated, op lists included. Targets: 4 x 4 under a millisecond; 64
// stages x 512 micro-batches x 1,000 batches under 2 seconds and 200 MB.
//
//   pipeline_bench --benchmark_filter=chimera

#include <benchmark/benchmark.h>

#include "adagp/sim/pipeline/simulate.h"

namespace {

using namespace adagp::pipeline;

void simulate_batches(benchmark::State& state, const std::string& schedule, int devices,
                      int micro_batches, int64_t batches) {
  Sequence sequence = parse_phases("gp-bp");
  sequence.batches = batches;
  for (auto _ : state) {
    const Placement placement = make_placement({schedule, devices, micro_batches});
    Result result = simulate(placement, uniform_costs(placement, {}), sequence);
    benchmark::DoNotOptimize(result.makespan);
    state.counters["simulated"] = static_cast<double>(result.simulated_batches);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const Schedule& schedule : schedules()) {
    const std::string name = schedule.name;
    benchmark::RegisterBenchmark((name + "/4x4x2").c_str(), simulate_batches, name, 4, 4, 2)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark((name + "/64x512x1000").c_str(), simulate_batches, name, 64, 512,
                                 1000)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
