// Any text is either a UsageError or an accelerator that, written out, loads back to the same
// values and on which a layer can be simulated. The machine in rtl/ may say that the layer does not
// fit its memories.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "adagp/base/core/error.h"
#include "adagp/sim/accel/rtl_machine.h"
#include "adagp/sim/accel/simulate.h"

namespace {

using namespace adagp;

accel::Plan small_plan() {
  layers::Row row;
  row.name = "conv";
  row.op = "conv2d";
  row.input = {4, 6, 6};
  row.output = {8, 6, 6};
  row.kernel = {3, 3};
  row.stride = row.padding = {1, 1};
  layers::complete(row);
  return accel::make_plan({"fuzz", "6x6", {row}}, {2, {}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), count);
  accel::Accelerator machine;
  try {
    machine = accel::parse_accelerator(text, "fuzz.toml");
  } catch (const UsageError&) {
    return 0;
  }
  core::Binding written = accel::bind(machine);
  accel::Accelerator again = accel::parse_accelerator(written.to_toml(), "again.toml");
  if (!written.differences(accel::bind(again)).empty()) std::abort();

  static const accel::Plan plan = small_plan();
  const accel::Run run{schedule::Schedule::parse("1:1", 2), 2, 4};
  accel::TrainingResult result;
  try {
    result = accel::simulate_training(plan, machine, accel::find_dataflow(machine.dataflow),
                                      accel::designs(), run);
  } catch (const UsageError&) {
    if (!accel::is_rtl(machine)) throw;
    return 0;
  }
  for (const auto& design : result.designs) {
    if (design.cycles.total() < 1) std::abort();
  }
  return 0;
}
