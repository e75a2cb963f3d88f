// How fast the accelerator simulator is: layer evaluations per second, and whole sweeps.
//
//   accel_bench --benchmark_filter=layer
//
// A layer evaluation is one product of one layer. Targets on one thread: a million per second for
// cycles and buffer words of ws, is and os; 200,000 with memory and energy. A sweep of 100,000
// points of one network, four designs each, is to take less than 30 seconds on two cores.

#include <benchmark/benchmark.h>

#include "adagp/base/core/files.h"
#include "adagp/sim/accel/sweep.h"

namespace {

using namespace adagp::accel;

Plan resnet50(int64_t batch) {
  const std::string path = ADAGP_SOURCE_DIR "/configs/layers/resnet50-imagenet.csv";
  PlanOptions options;
  options.batch = batch;
  return make_plan(adagp::layers::from_csv(adagp::core::read_file(path), path), options);
}

// All three products of every layer.
std::vector<Work> products(const Plan& plan) {
  std::vector<Work> out;
  for (const LayerPlan& layer : plan.layers) {
    if (!layer.product) continue;
    out.push_back(layer.forward);
    if (layer.input_gradient) out.push_back(*layer.input_gradient);
    if (layer.weight_gradient) out.push_back(*layer.weight_gradient);
  }
  return out;
}

void count_items(benchmark::State& state, size_t per_iteration) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(per_iteration));
}

void layer_cycles(benchmark::State& state, const Dataflow* dataflow) {
  const auto works = products(resnet50(128));
  const Array array;
  for (auto _ : state) {
    for (const Work& work : works) benchmark::DoNotOptimize(dataflow->cost(work, array));
  }
  count_items(state, works.size());
}

void layer_memory_energy(benchmark::State& state, const Dataflow* dataflow) {
  const auto works = products(resnet50(128));
  Accelerator accelerator;
  accelerator.buffer_bytes = 108 * 1024;
  accelerator.buffer_bytes_per_cycle = 64;
  accelerator.dram_bytes_per_cycle = 8;
  for (auto _ : state) {
    for (const Work& work : works) {
      benchmark::DoNotOptimize(product_cost(work, accelerator.array, *dataflow, accelerator));
    }
  }
  count_items(state, works.size());
}

Run ninety_epochs() {
  return {adagp::schedule::Schedule::parse("paper", 90), 90, 10010};
}

void training_run(benchmark::State& state, const Dataflow* dataflow) {
  const Plan plan = resnet50(128);
  const Accelerator accelerator;
  const Run run = ninety_epochs();
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulate_training(plan, accelerator, *dataflow, designs(), run));
  }
}

// Arrays of 4 to 67 rows and columns, with different buffers.
void sweep_100000_points(benchmark::State& state) {
  const Plan plan = resnet50(128);
  const std::vector<const Design*> all(designs().begin(), designs().end());
  constexpr size_t kPoints = 100000;
  std::vector<Point> points(kPoints);
  for (size_t i = 0; i < kPoints; ++i) {
    Point& point = points[i];
    point = {&plan, dataflows()[i % dataflows().size()], {}, all, ninety_epochs()};
    point.accelerator.array.rows = 4 + static_cast<int64_t>(i / 5 % 64);
    point.accelerator.array.columns = 4 + static_cast<int64_t>(i / 320 % 64);
    point.accelerator.buffer_bytes = 65536 << (i / 20480);
    point.accelerator.dram_bytes_per_cycle = 16;
  }
  for (auto _ : state) benchmark::DoNotOptimize(sweep(points, 0));
  count_items(state, kPoints);
}

void register_all() {
  for (const Dataflow* dataflow : dataflows()) {
    const std::string name = dataflow->name;
    benchmark::RegisterBenchmark(("layer/cycles/" + name).c_str(), layer_cycles, dataflow);
    benchmark::RegisterBenchmark(("layer/memory_energy/" + name).c_str(), layer_memory_energy,
                                 dataflow);
    benchmark::RegisterBenchmark(("run/resnet50/" + name).c_str(), training_run, dataflow)
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RegisterBenchmark("sweep/100000", sweep_100000_points)
      ->Iterations(1)
      ->UseRealTime()
      ->Unit(benchmark::kSecond);
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
