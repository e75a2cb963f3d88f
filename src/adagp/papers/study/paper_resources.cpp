#include "adagp/base/core/text.h"
#include "adagp/papers/study/measured.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/published.h"

namespace adagp::study {
namespace {

const Note kNoPower{Reason::kNotModelled,
                    "our RTL has energies of events in 0.35 um, without wires and memories, and no "
                    "watts (docs/hardware.md, Energy)"};
const Note kNoLayout{Reason::kNotModelled,
                     "our RTL has no layout, and so no wires and no buffers between them"};

const std::array<double, 4>* measured(const PublishedResource& resource) {
  for (const MeasuredResource& one : kMeasuredResources) {
    if (one.what == std::string(resource.what)) return &one.values;
  }
  return nullptr;
}

}  // namespace

void compare_resources(PaperResult& result) {
  const Note rtl{Reason::kNotStated,
                 core::cat("counts of Yosys for our RTL in fixed point, ", kRtlPage,
                           ": cell library, number format and sizes of the memories of the "
                           "published circuits are not stated, so only increments compare "
                           "(docs/hardware.md)")};
  for (const PublishedResource& resource : kResources) {
    const auto* ours = measured(resource);
    const bool power = std::string_view(resource.what).starts_with("power");
    for (size_t i = 0; i < kResourceDesigns.size(); ++i) {
      Comparison row{resource.place,
                     core::cat(resource.what, ", ", kResourceDesigns[i]),
                     resource.values[i],
                     {}};
      if (ours != nullptr) row.ours = (*ours)[i];
      add(result, std::move(row), ours != nullptr ? rtl : power ? kNoPower : kNoLayout);
    }
  }
  for (size_t i = 0; i < kPowerIncrease.size(); ++i) {
    const std::string over = core::cat(" over the baseline, ", kResourceDesigns[i + 1], " (%)");
    add(result, {"text", "FPGA power" + over, kPowerIncrease[i], {}}, kNoPower);
    add(result, {"text", "ASIC area" + over, kAreaIncrease[i], {}}, kNoLayout);
  }
}

}  // namespace adagp::study
