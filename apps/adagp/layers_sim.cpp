// adagp layers of the program without LibTorch: the embedded tables.

#include "adagp/base/core/error.h"
#include "adagp/sim/zoo/zoo.h"
#include "layers.h"
#include "simulate_runs.h"

namespace adagp::apps {
namespace {

[[noreturn]] void needs_torch(const std::string& what) {
  throw UsageError("layers: " + what + " needs a program with LibTorch ('make build')");
}

}  // namespace

FoundTable model_table(const LayersArgs& args) {
  if (args.classes) needs_torch("--classes");
  if (!args.form.empty()) needs_torch("--form");
  if (!args.words.empty()) needs_torch("--words");
  std::string input = args.input;
  if (input.empty()) {
    const auto known = zoo::inputs(args.model);
    input = known.empty() ? "imagenet" : known.back();  // imagenet, where there is one
  }
  return {zoo::layer_table(args.model, input), {}, {}, {}};
}

std::string model_coverage(const LayersArgs&) {
  needs_torch("--coverage");
}
std::string write_zoo(const LayersArgs&) {
  needs_torch("--zoo");
}

// The program without LibTorch has tables at the usual sizes alone.
layers::SideTable side_table(const layers::Table&, int64_t) {
  throw UsageError(
      "simulate: a plan with smaller images or frozen blocks needs a program with LibTorch ('make "
      "build'), which asks the network for its sizes");
}

}  // namespace adagp::apps
