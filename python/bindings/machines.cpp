// Training accelerators that look at operands: `adagp simulate --machine`.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "adagp/papers/study/machines.h"
#include "adagp/sim/arrays/machine.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {
namespace {

using study::MachineResult;

std::vector<std::string> machine_names() {
  std::vector<std::string> out;
  for (const arrays::Machine* one : arrays::machines()) out.emplace_back(one->name);
  return out;
}

MachineResult run_machine(const study::Options& options, const std::string& machine,
                          const std::string& trace, const std::string& sparsity,
                          const std::string& bits) {
  return study::run_machine(options, {machine, trace, sparsity, bits});
}

}  // namespace

void bind_machines(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  nb::class_<MachineResult>(module, "MachineResult", "A network on a machine.")
      .def("json", &study::machine_json, "per_layer"_a, unlocked)
      .def("text", &study::machine_text, "per_layer"_a, unlocked)
      .def("svg", &study::machine_picture, unlocked);
  module.def("run_machine", &run_machine, "options"_a, "machine"_a, "trace"_a, "sparsity"_a,
             "bits"_a, unlocked);
  module.def("machine_names", &machine_names, "What `machine` may be.");
}

}  // namespace adagp::python
