// Images per second that the loader prepares from memory: crop, flip, normalise.

#include <benchmark/benchmark.h>

#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/data/stream/loader.h"

namespace {

void resident_loader(benchmark::State& state) {
  adagp::data::Config config;
  config.synthetic_train = 2000;
  config.synthetic_test = 10;
  const auto splits = adagp::data::open(config);
  adagp::data::LoaderOptions options;
  options.batch = 256;
  options.workers = state.range(0);
  options.augment.mean = splits.mean;
  options.augment.std = splits.std;
  adagp::data::Loader loader(splits.train, options);
  for (auto _ : state) benchmark::DoNotOptimize(loader.next());
  state.SetItemsProcessed(state.iterations() * options.batch);
}
BENCHMARK(resident_loader)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
