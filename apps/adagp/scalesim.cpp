// adagp scalesim: SCALE-Sim's command line, inputs and reports, from closed forms.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/scalesim/reports.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct ScaleSimArgs {
  std::string config, topology, layout, folder = "./results", kind = "conv", traces = "N";
  bool json = false;
};

void print_reports(const scalesim::Topology& topology,
                   const std::vector<scalesim::LayerReport>& layers) {
  report::Table table({"<layer", "total cycles", "stall cycles", "overall util (%)",
                       "mapping efficiency (%)", "<accesses"});
  int64_t total = 0, stall = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const scalesim::LayerReport& layer = layers[i];
    table.add_row({topology.layers[i].name, core::grouped(layer.total_cycles),
                   core::grouped(layer.stall_cycles), core::fixed(layer.overall_util, 2),
                   core::fixed(layer.mapping_efficiency, 2), layer.exact ? "" : "estimate"});
    total = accel::add(total, layer.total_cycles);
    stall = accel::add(stall, layer.stall_cycles);
  }
  table.add_row({"total", core::grouped(total), core::grouped(stall), "", "", ""});
  core::print(table.console());
}

int run_scalesim(const ScaleSimArgs& args) {
  const auto config = scalesim::parse_config(core::read_file(args.config), args.config);
  const std::string path = args.topology.empty() ? config.topology : args.topology;
  if (path.empty()) throw UsageError("scalesim: no topology: give -t FILE");
  const auto topology =
      scalesim::parse_topology(core::read_file(path), path, scalesim::parse_kind(args.kind));
  if (!args.layout.empty()) {
    core::log_warning("scalesim: layouts are not modelled; -l " + args.layout + " is not read");
  }
  if (args.traces == "Y") core::log_warning("scalesim: no traces are written (-s Y)");

  std::vector<scalesim::LayerReport> layers;
  size_t estimates = 0;
  for (const scalesim::Layer& layer : topology.layers) {
    layers.push_back(scalesim::report_layer(config, layer));
    estimates += layers.back().exact ? 0 : 1;
  }
  const auto folder = core::fs::path(args.folder) / config.run_name;
  core::make_folder(folder);
  core::write_file(folder / "COMPUTE_REPORT.csv", scalesim::compute_report(layers));
  core::write_file(folder / "BANDWIDTH_REPORT.csv", scalesim::bandwidth_report(layers));
  core::write_file(folder / "DETAILED_ACCESS_REPORT.csv", scalesim::detailed_access_report(layers));
  if (args.json) {
    core::print_data(study::scalesim_json(config, topology, layers));
  } else {
    print_reports(topology, layers);
  }
  if (estimates > 0) {
    core::log_info(core::cat("scalesim: ", estimates, " of ", layers.size(),
                             " layers have estimated accesses (docs/other-simulators.md)"));
  }
  core::log_info("scalesim: reports in " + folder.string());
  return 0;
}

}  // namespace

void add_scalesim(CLI::App& app, Action& action) {
  auto args = std::make_shared<ScaleSimArgs>();
  CLI::App* command =
      app.add_subcommand("scalesim", "SCALE-Sim's inputs and reports, in microseconds");
  command->add_option("-c", args->config, "Configuration (.cfg)")->required();
  command->add_option("-t", args->topology, "Topology (.csv); default: the configuration's");
  command->add_option("-l", args->layout, "Layout, accepted and not modelled");
  add_shown(*command, "-p", args->folder, "Folder of the reports");
  add_shown(*command, "-i", args->kind, "Kind of the topology: conv or gemm");
  command->add_option("-s", args->traces, "Traces, accepted and not written");
  command->add_flag("--json", args->json, "JSON instead of the table; the reports are written too");
  command->callback([args, &action] { action = [args] { return run_scalesim(*args); }; });
}

}  // namespace adagp::apps
