// Summaries of runs, statistics over seeds, comparisons and their verdicts.

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "adagp/base/core/error.h"
#include "adagp/results/report/compare.h"
#include "adagp/results/report/stats.h"
#include "adagp/results/report/summary.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {
namespace {

using report::Comparison;
using report::Conditions;
using report::Difference;
using report::MethodRow;
using report::Metric;
using report::PairedRow;
using report::RunRecord;
using report::Summary;

void bind_summary(nb::module_& module) {
  nb::class_<Conditions>(module, "Conditions", "Under which conditions a score was reached.")
      .def(nb::init<>())
      .def_rw("data_limit", &Conditions::data_limit)
      .def_rw("data_test_limit", &Conditions::data_test_limit)
      .def_rw("train_examples", &Conditions::train_examples)
      .def_rw("test_examples", &Conditions::test_examples)
      .def_rw("input", &Conditions::input)
      .def_rw("from_weights", &Conditions::from_weights)
      .def_rw("settings", &Conditions::settings, "A copy: assign a whole dict to change it.")
      .def("text", &Conditions::text)
      .def("to_json", [](const Conditions& self) { return self.to_json().dump(); });
  nb::class_<Summary>(module, "Summary", "The result of a finished run: summary.json.")
      .def(nb::init<>())
      .def_static("read", &Summary::read, "file"_a)
      .def_rw("method", &Summary::method)
      .def_rw("model", &Summary::model)
      .def_rw("data", &Summary::data)
      .def_rw("device", &Summary::device)
      .def_rw("precision", &Summary::precision)
      .def_rw("seed", &Summary::seed)
      .def_rw("epochs", &Summary::epochs)
      .def_rw("batch", &Summary::batch)
      .def_rw("task", &Summary::task)
      .def_rw("metric", &Summary::metric)
      .def_rw("conditions", &Summary::conditions)
      .def_rw("loss", &Summary::loss)
      .def_rw("figures", &Summary::figures, "A copy: assign a whole dict to change it.")
      .def_rw("best", &Summary::best)
      .def_rw("train_seconds", &Summary::train_seconds)
      .def_rw("eval_seconds", &Summary::eval_seconds)
      .def_rw("trace_seconds", &Summary::trace_seconds)
      .def_rw("bp_batches", &Summary::bp_batches)
      .def_rw("gp_batches", &Summary::gp_batches)
      .def_rw("cost_epochs", &Summary::cost_epochs)
      .def_rw("cosine", &Summary::cosine)
      .def_rw("q", &Summary::q)
      .def_rw("bias", &Summary::bias)
      .def_prop_ro(
          "score",
          [](const Summary& self) {
            if (!self.figures.contains(self.metric)) {
              throw UsageError("the metric '" + self.metric + "' is not among the figures");
            }
            return self.score();
          })
      .def_prop_ro("gp_share", &Summary::gp_share)
      .def("to_json", [](const Summary& self) { return self.to_json().dump(2) + "\n"; })
      .def("__repr__", [](const Summary& self) {
        return self.figures.contains(self.metric) ? one_line(self) : self.to_json().dump();
      });
}

void bind_statistics(nb::module_& module) {
  using Values = std::vector<double>;
  module.def(
      "mean", [](const Values& values) { return report::mean(values); }, "values"_a);
  module.def("standard_deviation", &report::standard_deviation, "values"_a,
             "With n - 1; NaN for fewer than two values.");
  nb::class_<Difference>(module, "Difference", "A mean with its two-sided 95 % t interval.")
      .def_ro("n", &Difference::n)
      .def_ro("mean", &Difference::mean)
      .def_ro("low", &Difference::low)
      .def_ro("high", &Difference::high)
      .def_prop_ro("excludes_zero", &Difference::excludes_zero)
      .def("__repr__", [](const Difference& self) {
        return nb::str("Difference(n={}, mean={}, low={}, high={})")
            .format(self.n, self.mean, self.low, self.high);
      });
  module.def("paired_difference", &report::paired_difference, "differences"_a);
}

void bind_comparison(nb::module_& module) {
  nb::class_<RunRecord>(module, "RunRecord", "What one finished run gives to a comparison.")
      .def(
          "__init__",
          [](RunRecord* self, std::string method, int64_t seed, double score, double seconds,
             int64_t bp_batches, int64_t gp_batches, std::optional<double> cosine,
             std::optional<double> processor_seconds) {
            new (self) RunRecord{std::move(method), seed,       score,  seconds,
                                 bp_batches,        gp_batches, cosine, processor_seconds};
          },
          "method"_a, "seed"_a, "score"_a, "seconds"_a, "bp_batches"_a = 0, "gp_batches"_a = 0,
          "cosine"_a = nb::none(), "processor_seconds"_a = nb::none());
  nb::class_<Metric>(module, "Metric", "What a score is.")
      .def(
          "__init__",
          [](Metric* self, std::string name, std::string label, bool percent) {
            new (self) Metric{std::move(name), std::move(label), percent};
          },
          "name"_a = "top1", "label"_a = "top-1", "percent"_a = true)
      .def_ro("name", &Metric::name)
      .def_ro("label", &Metric::label)
      .def_ro("percent", &Metric::percent);
  nb::class_<MethodRow>(module, "MethodRow", "One method over its seeds.")
      .def_ro("method", &MethodRow::method)
      .def_ro("score_mean", &MethodRow::score_mean)
      .def_ro("score_sd", &MethodRow::score_sd)
      .def_ro("n", &MethodRow::n)
      .def_ro("seconds_mean", &MethodRow::seconds_mean)
      .def_ro("speedup", &MethodRow::speedup)
      .def_ro("bp_batches", &MethodRow::bp_batches)
      .def_ro("gp_batches", &MethodRow::gp_batches)
      .def_ro("cosine_mean", &MethodRow::cosine_mean)
      .def_ro("processor_seconds_mean", &MethodRow::processor_seconds_mean);
  nb::class_<PairedRow>(module, "PairedRow", "A method minus another one, over common seeds.")
      .def_ro("method", &PairedRow::method)
      .def_ro("against", &PairedRow::against)
      .def_ro("points", &PairedRow::points);
  nb::class_<Comparison>(module, "Comparison", "Methods over seeds, and what they show.")
      .def_ro("about", &Comparison::about)
      .def_ro("conditions", &Comparison::conditions)
      .def_ro("metric", &Comparison::metric)
      .def_ro("methods", &Comparison::methods)
      .def_ro("pairs", &Comparison::pairs)
      .def("heading",
           [](const Comparison& self) { return report::heading(self.about, self.conditions); })
      .def("rows_console", [](const Comparison& self) { return report::to_table(self).console(); })
      .def(
          "rows_html",
          [](const Comparison& self, const std::string& caption) {
            return report::to_table(self).html(caption);
          },
          "caption"_a)
      .def("verdict", [](const Comparison& self) { return report::verdict(self); })
      .def("in_plain_words", [](const Comparison& self) { return report::in_plain_words(self); })
      .def("to_json", [](const Comparison& self) { return report::to_json(self); })
      .def("to_markdown", [](const Comparison& self) { return report::to_markdown(self); })
      .def("to_console", [](const Comparison& self) { return report::to_console(self); })
      .def("to_csv", [](const Comparison& self) { return report::to_csv(self); })
      .def("to_svg", [](const Comparison& self) { return report::to_svg(self); });
  module.def(
      "compare_runs",
      [](const std::vector<RunRecord>& runs, const Metric& metric, const std::string& about,
         const Conditions& conditions) {
        Comparison out = report::compare(runs, metric);
        out.about = about;
        out.conditions = conditions;
        return out;
      },
      "runs"_a, "metric"_a, "about"_a = "", "conditions"_a = Conditions{});
}

}  // namespace

void bind_report(nb::module_& module) {
  bind_summary(module);
  bind_statistics(module);
  bind_comparison(module);
}

}  // namespace adagp::python
