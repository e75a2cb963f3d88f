#include "adagp/base/core/lookup.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/dataflow/dataflow.h"

// In the order of 'adagp list dataflows'. A new dataflow is a file that defines one, and its name
// in this list.
#define ADAGP_DATAFLOWS(entry)                                                                    \
  entry(kWeightStationary) entry(kInputStationary) entry(kOutputStationary) entry(kRowStationary) \
      entry(kInPlaceTransposed)

namespace adagp::accel {

#define ADAGP_DECLARE(name) extern const Dataflow name;
ADAGP_DATAFLOWS(ADAGP_DECLARE)
#undef ADAGP_DECLARE

namespace {

#define ADAGP_LIST(name) &(name),
constexpr const Dataflow* kDataflows[] = {ADAGP_DATAFLOWS(ADAGP_LIST)};
#undef ADAGP_LIST

}  // namespace

std::span<const Dataflow* const> dataflows() {
  return kDataflows;
}

const Dataflow& find_dataflow(const std::string& name) {
  return *core::find_named(kDataflows, name, "dataflow", " is unknown");
}

int64_t SramWords::total() const {
  return add(ifmap, filter, ofmap, sums);
}

double active_pes(const ArrayCost& cost) {
  return static_cast<double>(cost.macs) /
         (static_cast<double>(cost.folds) * static_cast<double>(cost.stream));
}

double mapping_efficiency(const ArrayCost& cost, const Array& array) {
  return active_pes(cost) / static_cast<double>(array.pes());
}

double utilisation(const ArrayCost& cost, const Array& array) {
  return static_cast<double>(cost.macs) /
         (static_cast<double>(cost.cycles) * static_cast<double>(array.pes()));
}

}  // namespace adagp::accel
