// Your own network on an accelerator and on a pipeline of four, without LibTorch.
//
// The network is a layer table: the file that `adagp layers --csv` writes, or a model by name.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <adagp/simulator.h>

namespace {

adagp::layers::Table read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw adagp::DataError(path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return adagp::layers::from_csv(text, path);
}

// Training on one accelerator: backpropagation against the designs that predict gradients.
void simulate_accelerator(const adagp::layers::Table& table) {
  namespace accel = adagp::accel;
  accel::Accelerator machine = adagp::zoo::accelerator("adagp-180");
  machine.array.rows = 32;
  machine.array.columns = 32;
  accel::check(machine);

  accel::PlanOptions options;
  options.batch = 64;
  const accel::Plan plan = accel::make_plan(table, options);
  const accel::Run run{adagp::schedule::Schedule::parse("paper", 90), 90,
                       accel::batches_of(50'000, options.batch)};
  const accel::Dataflow& dataflow = accel::find_dataflow(machine.dataflow);
  const auto result = accel::simulate_training(plan, machine, dataflow, accel::designs(), run);
  for (const accel::DesignResult& design : result.designs) {
    std::printf("%-10s %8.1f s  speed-up %.3f\n", design.design->name, design.seconds,
                design.speedup);
  }
}

// One BP batch after another against GP and BP batches in turn, on four devices.
void simulate_pipeline() {
  namespace pipeline = adagp::pipeline;
  pipeline::Request request;
  request.schedule = "gpipe";
  request.devices = 4;
  request.micro_batches = 8;
  const pipeline::Placement placement = pipeline::make_placement(request);
  const pipeline::Costs costs = pipeline::uniform_costs(placement, pipeline::StageCost{});
  std::printf("pipeline   speed-up %.3f\n", pipeline::steady_speedup(placement, costs));
}

}  // namespace

int main(int argc, char** argv) try {
  const auto table = argc > 1 ? read_table(argv[1]) : adagp::zoo::layer_table("resnet18", "cifar");
  simulate_accelerator(table);
  simulate_pipeline();
  return 0;
} catch (const adagp::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
