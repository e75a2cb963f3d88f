// Which batch is BP and which GP, and learning rates.

#include "adagp/base/schedule/schedule.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "adagp/base/schedule/policy.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace adagp::python {

void bind_schedule(nb::module_& module) {
  using schedule::Schedule;
  nb::class_<Schedule>(module, "Schedule", "Which batch is backpropagated and which predicted.")
      .def(
          "__init__",
          [](Schedule* self, const std::string& text, int64_t epochs) {
            new (self) Schedule(Schedule::parse(text, epochs));
          },
          "text"_a, "epochs"_a)
      .def(
          "predicted",
          [](const Schedule& self, int64_t epoch, int64_t batch) {
            return self.at(epoch, batch) == schedule::Phase::kPredict;
          },
          "epoch"_a, "batch"_a, "Whether this batch is a GP batch.")
      .def("predicted_share", &Schedule::predicted_share, "epochs"_a, "batches_per_epoch"_a)
      .def("__str__", &Schedule::str)
      .def("__repr__", [](const Schedule& self) { return "Schedule('" + self.str() + "')"; });
}

}  // namespace adagp::python
