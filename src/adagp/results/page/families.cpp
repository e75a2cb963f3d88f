// Which runs of a group belong together.

#include <algorithm>
#include <cctype>

#include "adagp/results/page/sections.h"
#include "adagp/results/report/conditions.h"

namespace adagp::page {
namespace {

// "adagp-e8-b100-seed0" -> "adagp-e8-b100".
std::string without_seed(const std::string& name) {
  const size_t at = name.rfind("-seed");
  if (at == std::string::npos || at == 0 || at + 5 == name.size()) return name;
  const bool digits = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 5, name.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? name.substr(0, at) : name;
}

}  // namespace

std::vector<Family> families_of(const Group& group) {
  std::vector<Family> out;
  for (const report::RunFiles& run : group.runs) {
    const std::string label = without_seed(run.name);
    const auto same = std::find_if(out.begin(), out.end(), [&](const Family& family) {
      // Runs that were given one by one may have equal names in different folders.
      const bool beside = family.runs[0]->folder.parent_path() == run.folder.parent_path();
      return family.label == label && (beside || !group.source.empty());
    });
    if (same != out.end()) {
      same->runs.push_back(&run);
    } else {
      out.push_back({label, {&run}});
    }
  }
  for (Family& family : out) {
    const auto equal = std::count_if(
        out.begin(), out.end(), [&](const Family& other) { return other.label == family.label; });
    if (equal > 1) family.label = family.runs[0]->folder.string();
  }
  // Backprop first: it is what the others are compared with.
  std::stable_partition(out.begin(), out.end(),
                        [](const Family& family) { return family.runs[0]->method() == "bp"; });
  return out;
}

report::Metric metric_of(const Group& group) {
  for (const report::RunFiles& run : group.runs) {
    if (run.summary) return report::metric_named(run.summary->metric);
  }
  for (const report::RunFiles& run : group.runs) {
    for (const report::EpochRecord& epoch : run.metrics.epochs) {
      for (const auto& [name, value] : epoch.figures) {
        if (name.starts_with("test_") && name != "test_loss") {
          return report::metric_named(name.substr(5));
        }
      }
    }
  }
  return report::metric_named("top1");
}

}  // namespace adagp::page
