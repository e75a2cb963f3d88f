// Methods at several budgets against a curve through plain backprop.

#include "adagp/results/report/budget.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {
namespace {

using report::BudgetReport;
using report::BudgetRow;
using report::BudgetRun;

void bind_rows(nb::module_& module) {
  nb::class_<BudgetRun>(module, "BudgetRun", "What one finished run gives to a budget report.")
      .def(
          "__init__",
          [](BudgetRun* self, std::string method, int64_t epochs, int64_t batch, int64_t seed,
             double score, double cost, double seconds) {
            new (self) BudgetRun{std::move(method), epochs, batch, seed, score, cost, seconds};
          },
          "method"_a, "epochs"_a, "batch"_a, "seed"_a, "score"_a, "cost"_a, "seconds"_a);
  using Against = BudgetRow::Against;
  nb::class_<Against>(module, "Against", "Points above backprop of equal cost or equal seconds.")
      .def_ro("points", &Against::points)
      .def_ro("error", &Against::error)
      .def_ro("batch", &Against::batch);
  nb::class_<BudgetRow>(module, "BudgetRow", "A method at one budget.")
      .def_ro("method", &BudgetRow::method)
      .def_ro("epochs", &BudgetRow::epochs)
      .def_ro("batch", &BudgetRow::batch)
      .def_ro("n", &BudgetRow::n)
      .def_ro("score_mean", &BudgetRow::score_mean)
      .def_ro("score_sd", &BudgetRow::score_sd)
      .def_ro("cost_mean", &BudgetRow::cost_mean)
      .def_ro("seconds_mean", &BudgetRow::seconds_mean)
      .def_ro("counted", &BudgetRow::counted)
      .def_ro("clock", &BudgetRow::clock)
      .def_ro("best_counted", &BudgetRow::best_counted)
      .def_ro("best_clock", &BudgetRow::best_clock);
}

// The fits through bp as the picture has them: (seconds, score) along each.
std::vector<std::vector<std::pair<double, double>>> control_lines(const BudgetReport& self) {
  std::vector<std::vector<std::pair<double, double>>> out;
  for (const report::LineSeries& series : report::to_chart(self).series) {
    if (series.stroke == report::Stroke::kDashed) out.push_back(series.points);
  }
  return out;
}

}  // namespace

void bind_budget(nb::module_& module) {
  bind_rows(module);
  nb::class_<BudgetReport>(module, "BudgetReport", "Methods against backprop of equal cost.")
      .def_ro("about", &BudgetReport::about)
      .def_ro("metric", &BudgetReport::metric)
      .def_ro("rows", &BudgetReport::rows)
      .def_ro("notes", &BudgetReport::notes)
      .def("heading",
           [](const BudgetReport& self) { return report::heading(self.about, self.conditions); })
      .def("rows_console",
           [](const BudgetReport& self) { return report::rows_table(self).console(); })
      .def(
          "rows_html",
          [](const BudgetReport& self, const std::string& caption) {
            return report::rows_table(self).html(caption);
          },
          "caption"_a)
      .def("control_lines", &control_lines)
      .def("verdict", [](const BudgetReport& self) { return report::verdict(self); })
      .def("to_json", [](const BudgetReport& self) { return report::to_json(self); })
      .def("to_markdown", [](const BudgetReport& self) { return report::to_markdown(self); })
      .def("to_console", [](const BudgetReport& self) { return report::to_console(self); })
      .def("to_csv", [](const BudgetReport& self) { return report::to_csv(self); })
      .def("to_svg", [](const BudgetReport& self) { return report::to_svg(self); });
  module.def(
      "budget_report",
      [](std::vector<BudgetRun> runs, const report::Metric& metric, int64_t batch,
         const std::vector<int64_t>& target_epochs, const std::string& about,
         const report::Conditions& conditions) {
        BudgetReport out = report::budget_report(std::move(runs), metric, batch, target_epochs);
        out.about = about;
        out.conditions = conditions;
        return out;
      },
      "runs"_a, "metric"_a, "batch"_a, "target_epochs"_a, "about"_a = "",
      "conditions"_a = report::Conditions{});
}

}  // namespace adagp::python
