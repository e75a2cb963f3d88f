// Zeros and mantissa widths of the operands, where a run has traces.

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/results/page/run_traces.h"
#include "adagp/results/page/sections.h"

namespace adagp::page {
namespace {

constexpr size_t kMostRuns = 8;

struct TraceFigure {
  const char *view, *title, *about;
};
constexpr TraceFigure kZeros = {"zeros", "Zeros of the operands",
                                "A row for each operand of a layer, a column for each epoch that "
                                "has a trace. The table has the last of them."};
constexpr TraceFigure kBits = {"bits", "Mantissa bits of the operands",
                               "A row for each operand of a layer, a column for each epoch that "
                               "has a trace."};

void add_map(Page& page, const std::string& folder, const TraceFigure& drawn,
             const std::string& table, const std::string& what, const std::string& id) {
  const report::HeatMap map = trace_map(folder, drawn.view);
  Figure figure;
  figure.id = core::cat(id, "-", drawn.view);
  figure.title = core::cat(drawn.title, ", ", what);
  figure.about = drawn.about;
  figure.svg = report::svg(map, report::Use::kPage);
  figure.legend = report::legend_of(map);
  figure.table = table;
  figure.data = {{"k", "static"}};
  page.add(figure);
}

}  // namespace

void add_traces(Page& page, const Group& group, const std::string& id) {
  size_t shown = 0;
  for (const report::RunFiles& run : group.runs) {
    std::error_code ignored;
    if (!core::fs::is_directory(run.folder / "trace", ignored)) continue;
    if (shown == 0) page.body += heading(3, id + "-traces", "Zeros of the operands by layer");
    if (shown++ == kMostRuns) {
      page.body += core::cat("<p>Only the first ", kMostRuns, " runs are drawn.</p>\n");
      return;
    }
    const std::string folder = run.folder.string(), place = core::cat(id, "-traces-", shown);
    try {
      const arrays::Trace last = run_traces(folder).back();
      const std::string table =
          trace_table({last}).html(core::cat("Operands in epoch ", last.epoch));
      add_map(page, folder, kZeros, table, run.name, place);
      const bool widths = !last.layers.empty() && last.layers.front().mantissa;
      if (widths) add_map(page, folder, kBits, table, run.name, place);
    } catch (const Error& error) {
      page.body += paragraphs(error.what());
    }
  }
}

}  // namespace adagp::page
