// Pipelines over several devices.

#include "adagp/papers/study/pipeline_files.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "arrays.h"
#include "bindings.h"
#include "progress.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {
namespace {

using study::PipelineOptions;
using study::PipelineRun;
using study::PipelineStudy;

PipelineStudy run_pipelines(const PipelineOptions& options, const nb::object& progress) {
  const nb::gil_scoped_release unlocked;
  return study::run_pipelines(options, [&](size_t done, size_t all) { tell(progress, done, all); });
}

const PipelineRun& run_at(const PipelineStudy& study, size_t run) {
  if (run < study.runs.size()) return study.runs[run];
  throw UsageError(core::cat("run is ", run, ", expected 0 to ", study.runs.size() - 1));
}

// Columns of ops, which have what `field` says.
template <typename Items, typename Field>
nb::list column(const Items& items, const Field& field) {
  nb::list out;
  for (const auto& item : items) out.append(field(item));
  return out;
}

struct DeviceOp {
  int device;
  pipeline::Op op;
};

template <typename Items>
Columns op_columns(const Items& items) {
  Columns out;
  const auto number = [&](const char* name, auto field) {
    std::vector<int64_t> numbers;
    for (const auto& item : items) numbers.push_back(field(item));
    out[name] = to_array(std::move(numbers));
  };
  number("device", [](const auto& item) { return item.device; });
  out["kind"] = column(items, [](const auto& item) { return pipeline::kind_name(item.op.kind); });
  out["phase"] =
      column(items, [](const auto& item) { return pipeline::phase_name(item.op.phase); });
  number("batch", [](const auto& item) { return item.op.batch; });
  number("micro_batch", [](const auto& item) { return item.op.micro; });
  number("stage", [](const auto& item) { return item.op.stage; });
  number("replica", [](const auto& item) { return item.op.replica; });
  return out;
}

Columns ops(const PipelineStudy& study, size_t run) {
  std::vector<DeviceOp> all;
  {
    const nb::gil_scoped_release unlocked;
    const pipeline::OpLists plan = study::pipeline_op_lists(run_at(study, run));
    for (size_t d = 0; d < plan.devices.size(); ++d) {
      for (const pipeline::Op& op : plan.devices[d]) all.push_back({static_cast<int>(d), op});
    }
  }
  Columns out = op_columns(all);
  std::vector<int64_t> peers;
  for (const DeviceOp& one : all) peers.push_back(one.op.peer);
  out["peer"] = to_array(std::move(peers));
  return out;
}

Columns events(const PipelineStudy& study, size_t run) {
  std::vector<pipeline::Event> all;
  {
    const nb::gil_scoped_release unlocked;
    all = study::pipeline_events(run_at(study, run));
  }
  Columns out = op_columns(all);
  std::vector<double> starts, ends;
  for (const pipeline::Event& event : all) {
    starts.push_back(event.start);
    ends.push_back(event.end);
  }
  out["start"] = to_array(std::move(starts));
  out["end"] = to_array(std::move(ends));
  return out;
}

void bind_options(nb::module_& module) {
  nb::class_<PipelineOptions>(module, "PipelineOptions", "The flags of 'adagp pipeline'.")
      .def(nb::init<>())
      .def_rw("schedules", &PipelineOptions::schedules)
      .def_rw("schedule_file", &PipelineOptions::schedule_file)
      .def_rw("stages", &PipelineOptions::stages)
      .def_rw("micro_batches", &PipelineOptions::micro_batches)
      .def_rw("chunks", &PipelineOptions::chunks)
      .def_rw("phases", &PipelineOptions::phases)
      .def_rw("batches", &PipelineOptions::batches)
      .def_rw("overlap", &PipelineOptions::overlap)
      .def_rw("gp_share", &PipelineOptions::gp_share)
      .def_rw("low_share", &PipelineOptions::low_share)
      .def_rw("forward", &PipelineOptions::forward)
      .def_rw("backward", &PipelineOptions::backward)
      .def_prop_rw(
          "summary", [](const PipelineOptions& self) { return self.rest.summary; },
          [](PipelineOptions& self, double value) { self.rest.summary = value; })
      .def_prop_rw(
          "predictor", [](const PipelineOptions& self) { return self.rest.predict_update; },
          [](PipelineOptions& self, double value) { self.rest.predict_update = value; })
      .def_prop_rw(
          "optimizer", [](const PipelineOptions& self) { return self.rest.optimizer; },
          [](PipelineOptions& self, double value) { self.rest.optimizer = value; })
      .def_prop_rw(
          "predictor_step", [](const PipelineOptions& self) { return self.rest.predictor_step; },
          [](PipelineOptions& self, double value) { self.rest.predictor_step = value; })
      .def_prop_rw(
          "output_bytes", [](const PipelineOptions& self) { return self.rest.output_bytes; },
          [](PipelineOptions& self, double value) { self.rest.output_bytes = value; })
      .def_prop_rw(
          "weight_bytes", [](const PipelineOptions& self) { return self.rest.weight_bytes; },
          [](PipelineOptions& self, double value) { self.rest.weight_bytes = value; })
      .def_prop_rw(
          "summary_bytes", [](const PipelineOptions& self) { return self.rest.summary_bytes; },
          [](PipelineOptions& self, double value) { self.rest.summary_bytes = value; })
      .def_rw("latency", &PipelineOptions::latency)
      .def_rw("bandwidth", &PipelineOptions::bandwidth)
      .def_rw("copies", &PipelineOptions::copies)
      .def_rw("copy_latency", &PipelineOptions::copy_latency)
      .def_rw("copy_bandwidth", &PipelineOptions::copy_bandwidth)
      .def_rw("all_reduce", &PipelineOptions::all_reduce)
      .def_rw("bucket_bytes", &PipelineOptions::bucket_bytes)
      .def_rw("split_batch", &PipelineOptions::split_batch)
      .def_rw("costs_file", &PipelineOptions::costs_file)
      .def_rw("items_unit", &PipelineOptions::items_unit)
      .def_rw("accelerator", &PipelineOptions::accelerator)
      .def_rw("free_predictor", &PipelineOptions::free_predictor)
      .def_rw("memory_limit", &PipelineOptions::memory_limit)
      .def_rw("training", &PipelineOptions::training)
      .def_rw("epochs", &PipelineOptions::epochs)
      .def_rw("batches_per_epoch", &PipelineOptions::batches_per_epoch)
      .def(
          "set_costs",
          [](PipelineOptions& self, const std::string& json, const std::string& name) {
            self.items = study::parse_items(json, name);
          },
          "json"_a, "name"_a, "Measured costs: a JSON array, or CSV, as in a file of costs");
}

}  // namespace

void bind_pipeline(nb::module_& module) {
  bind_options(module);
  nb::class_<PipelineStudy>(module, "PipelineStudy", "Pipelines that were simulated.")
      .def_ro("unit", &PipelineStudy::unit)
      .def_ro("missing", &PipelineStudy::missing_lines)
      .def_ro("skipped", &PipelineStudy::skipped)
      .def("__len__", [](const PipelineStudy& self) { return self.runs.size(); })
      .def("json", &study::pipeline_json, nb::arg("gantt") = false,
           nb::call_guard<nb::gil_scoped_release>())
      .def("csv", &study::pipeline_csv, nb::call_guard<nb::gil_scoped_release>())
      .def("text", [](const PipelineStudy& self) { return study::pipeline_text(self, false); })
      .def(
          "svg",
          [](const PipelineStudy& self, size_t run) {
            return report::svg(study::pipeline_chart(self, run_at(self, run)));
          },
          "run"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "scaling_svg",
          [](const PipelineStudy& self) { return report::svg(study::scaling_chart(self)); },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "save_schedule",
          [](const PipelineStudy& self, size_t run, const std::string& file) {
            study::save_schedule(run_at(self, run), file);
          },
          "run"_a, "file"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "save_chakra",
          [](const PipelineStudy& self, size_t run, const std::string& folder) {
            study::save_chakra(run_at(self, run), self.unit, folder);
          },
          "run"_a, "folder"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "save_chrome",
          [](const PipelineStudy& self, size_t run, const std::string& file) {
            study::save_chrome(run_at(self, run), file);
          },
          "run"_a, "file"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("ops", &ops, "run"_a)
      .def("events", &events, "run"_a);
  module.def("run_pipelines", &run_pipelines, "options"_a, "progress"_a.none());
}

}  // namespace adagp::python
