// adagp._core: the torch-free libraries for Python.

#include "adagp/base/core/provenance.h"
#include "bindings.h"

NB_MODULE(_core, module) {
  module.doc() = "The torch-free half of adagp: plans, schedules, simulators, statistics.";
  module.attr("VERSION") = adagp::core::version().c_str();
  adagp::python::bind_errors(module);
  adagp::python::bind_plan(module);
  adagp::python::bind_schedule(module);
  adagp::python::bind_report(module);
  adagp::python::bind_budget(module);
  adagp::python::bind_run_files(module);
  adagp::python::bind_layers(module);
  adagp::python::bind_simulate(module);
  adagp::python::bind_machines(module);
  adagp::python::bind_pipeline(module);
}
