#pragma once
// The parts of adagp._core, one file each. They translate and compute nothing.

#include <nanobind/nanobind.h>

namespace adagp::python {

void bind_budget(nanobind::module_& module);
void bind_errors(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_report(nanobind::module_& module);
void bind_run_files(nanobind::module_& module);
void bind_schedule(nanobind::module_& module);
void bind_machines(nanobind::module_& module);
void bind_layers(nanobind::module_& module);
void bind_simulate(nanobind::module_& module);
void bind_pipeline(nanobind::module_& module);

}  // namespace adagp::python
