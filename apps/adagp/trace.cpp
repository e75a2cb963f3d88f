// adagp trace: what training recorded of its operands.

#include <memory>

#include "adagp/base/core/output.h"
#include "adagp/base/core/special_files.h"
#include "adagp/papers/study/trace_info.h"
#include "adagp/papers/study/trace_map.h"
#include "adagp/results/report/chart.h"
#include "commands.h"

namespace adagp::apps {
namespace {

struct TraceArgs {
  std::string run, plot, value = "x";
  bool json = false;
};

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("trace", "Traces of a run: zeros and mantissa widths of its operands");
  command->require_subcommand(1);
  auto args = std::make_shared<TraceArgs>();
  CLI::App* info =
      command->add_subcommand("info", "Shares of non-zeros and widths by layer and epoch");
  info->add_option("RUN", args->run, "Run folder, or one trace file")->required();
  info->add_flag("--json", args->json, "JSON");
  info->add_option("--plot", args->plot, "Write a picture (SVG): layers by epochs");
  info->add_option(
          "--value", args->value,
          "--plot: zeros of x, dy or w (all three: zeros), or mantissa bits-w, bits-a, bits-g "
          "(all three: bits)")
      ->capture_default_str();
  info->callback([args, &action] {
    action = [args] {
      const std::string picture =
          args->plot.empty() ? "" : report::svg(study::trace_map(args->run, args->value));
      const std::string text =
          args->json ? study::trace_info_json(args->run) : study::trace_info_text(args->run);
      core::print_result(text, args->json);
      if (!args->plot.empty()) core::write_output(args->plot, picture);
      return 0;
    };
  });
}

}  // namespace adagp::apps
