// adagp._core: the torch-free libraries for Python.

#include "bindings.h"

NB_MODULE(_core, module) {
  module.doc() = "The torch-free half of adagp: plans, schedules, simulators, statistics.";
  module.attr("__version__") = ADAGP_VERSION;
  adagp::python::bind_errors(module);
  adagp::python::bind_schedule(module);
  adagp::python::bind_layers(module);
  adagp::python::bind_simulate(module);
  adagp::python::bind_pipeline(module);
}
