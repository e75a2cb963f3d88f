// adagp trace: what training recorded of its operands.

#include <memory>

#include "adagp/core/output.h"
#include "adagp/study/trace_info.h"
#include "commands.h"

namespace adagp::apps {
namespace {

struct TraceArgs {
  std::string run;
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
  info->callback([args, &action] {
    action = [args] {
      core::print_result(
          args->json ? study::trace_info_json(args->run) : study::trace_info_text(args->run),
          args->json);
      return 0;
    };
  });
}

}  // namespace adagp::apps
