// Sweeps of the accelerator simulator.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/details.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/study.h"
#include "adagp/results/report/chart.h"
#include "adagp/sim/accel/explain.h"
#include "arrays.h"
#include "bindings.h"
#include "progress.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {
namespace {

using study::Options;

// A study that ran, and the rows of it that are of interest: all, or a Pareto front.
struct Sweep {
  std::shared_ptr<const study::Study> study;
  std::vector<study::Row> rows;
  bool front = false;
};

Sweep run_sweep(const Options& options, const nb::object& progress) {
  const nb::gil_scoped_release unlocked;
  auto study = std::make_shared<study::Study>(study::make_study(options, check_signals));
  const size_t all = study->cases.size();
  study::run(*study, options.threads, [&](size_t done) { tell(progress, done, all); });
  auto rows = study::all_rows(*study);
  return {std::move(study), std::move(rows)};
}

Sweep pareto(const Sweep& sweep, const std::string& values) {
  const nb::gil_scoped_release unlocked;
  return {sweep.study, study::rows_of(study::pareto_fronts(*sweep.study, values)), true};
}

nb::object to_python(study::Column& column) {
  if (auto* texts = std::get_if<study::Texts>(&column.data)) {
    return nb::make_tuple(texts->values, to_array(std::move(texts->codes)));
  }
  if (auto* counts = std::get_if<std::vector<int64_t>>(&column.data)) {
    return to_array(std::move(*counts));
  }
  return to_array(std::move(std::get<std::vector<double>>(column.data)));
}

Columns columns(const Sweep& sweep) {
  std::vector<study::Column> all;
  {
    const nb::gil_scoped_release unlocked;
    all = study::columns(*sweep.study, sweep.rows);
  }
  Columns out;
  for (study::Column& column : all) out[column.name.c_str()] = to_python(column);
  return out;
}

bool single(const Sweep& sweep) {
  return sweep.study->cases.size() == 1 && !sweep.front;
}

// The program's JSON.
std::string json(const Sweep& sweep) {
  const nb::gil_scoped_release unlocked;
  const study::Study& study = *sweep.study;
  if (single(sweep)) return study::json_text(study, 0, study::detail(study, 0), false);
  std::string out;
  study::write_json(study, sweep.rows, [&](const std::string& part) { out += part; });
  return out;
}

std::string csv(const Sweep& sweep) {
  const nb::gil_scoped_release unlocked;
  std::string out;
  study::write_csv(*sweep.study, sweep.rows, [&](const std::string& part) { out += part; });
  return out;
}

size_t checked(const Sweep& sweep, size_t run) {
  const size_t count = sweep.study->cases.size();
  if (run < count) return run;
  throw UsageError(core::cat("run is ", run, ", expected 0 to ", count - 1));
}

std::string explain(const Sweep& sweep, const std::string& layer, size_t run) {
  const accel::Point& point = sweep.study->points[checked(sweep, run)];
  return accel::explain(*point.plan, point.accelerator, *point.dataflow, layer);
}

std::string details(const Sweep& sweep, size_t run) {
  const study::Study& study = *sweep.study;
  const size_t place = checked(sweep, run);
  return study::json_text(study, place, study::detail(study, place), true);
}

std::string svg(const Sweep& sweep) {
  const study::Study& study = *sweep.study;
  if (single(sweep)) return report::svg(study::layer_chart(study, 0, study::detail(study, 0)));
  return report::svg(study::runs_chart(study, sweep.rows));
}

void bind_simulate_options(nb::module_& module) {
  nb::class_<Options>(module, "SimulateOptions", "The flags of 'adagp simulate'.")
      .def(nb::init<>())
      .def_rw("models", &Options::models)
      .def_rw("inputs", &Options::inputs)
      .def_rw("accelerators", &Options::accelerators)
      .def_rw("settings", &Options::settings)
      .def_rw("arrays", &Options::arrays)
      .def_rw("dataflows", &Options::dataflows)
      .def_rw("batches", &Options::batches)
      .def_rw("designs", &Options::designs)
      .def_rw("predictor_channels", &Options::predictor_channels)
      .def_rw("predictor_pooled", &Options::predictor_pooled)
      .def_rw("predictor_summary", &Options::predictor_summary)
      .def_rw("predictor_kind", &Options::predictor_kind)
      .def_rw("schedule", &Options::schedule)
      .def_rw("epochs", &Options::epochs)
      .def_rw("examples", &Options::examples)
      .def_rw("inference", &Options::inference)
      .def_rw("products_only", &Options::products_only)
      .def_rw("threads", &Options::threads)
      .def(
          "set_tables",
          [](Options& self, std::vector<layers::Table> tables, bool topology) {
            self.tables = std::move(tables);
            self.tables_rule = topology ? accel::SizeRule::kScaleSim : accel::SizeRule::kFloor;
          },
          "tables"_a, "topology"_a = false,
          "Layer tables instead of a model; `topology`: SCALE-Sim's, which rounds sizes up");
}

}  // namespace

void bind_simulate(nb::module_& module) {
  bind_simulate_options(module);
  nb::class_<Sweep>(module, "Sweep", "The results of a sweep.")
      .def_prop_ro("runs", [](const Sweep& self) { return self.study->cases.size(); })
      .def("__len__", [](const Sweep& self) { return self.rows.size(); })
      .def("columns", &columns, "Numbers as arrays; texts as (values, codes).")
      .def("pareto", &pareto, "values"_a)
      .def("json", &json)
      .def("csv", &csv)
      .def("console", [](const Sweep& self) { return study::console(*self.study, self.rows); })
      .def("places", [](const Sweep& self) { return study::common_places(*self.study); })
      .def("labels", [](const Sweep& self) { return study::labels(*self.study); })
      .def("missing", [](const Sweep& self) { return study::missing_lines(*self.study); })
      .def("explain", &explain, "layer"_a, "run"_a = 0, nb::call_guard<nb::gil_scoped_release>())
      .def("details", &details, "run"_a = 0, nb::call_guard<nb::gil_scoped_release>())
      .def("svg", &svg, nb::call_guard<nb::gil_scoped_release>());
  module.def("simulate", &run_sweep, "options"_a, "progress"_a.none());
  module.def("examples_of", &study::examples_of, "input"_a);
  module.def(
      "accelerator_keys",
      [] {
        accel::Accelerator machine;
        return accel::bind(machine).keys();
      },
      "The keys of accelerator files.");
}

}  // namespace adagp::python
