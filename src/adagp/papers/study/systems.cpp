#include "adagp/papers/study/machines.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::study {
namespace {

using nlohmann::ordered_json;

enum class Norms { kAny, kWith, kWithout };

struct System {
  MachineOptions machine;
  const char* setting;
  const char* published;
  Norms norms;  // of the networks the setting is about
};

const std::vector<System>& systems() {
  static const std::vector<System> kSystems = {
      {{"tensordash", "", "x=0.5,dy=0,w=0", ""},
       "half of X zero (norms keep dY dense)",
       "1.95x mean of training, 1.89x compute energy",
       Norms::kWith},
      {{"tensordash", "", "x=0.5,dy=0.5,w=0", ""},
       "half of X and dY zero (no norms)",
       "1.95x mean of training, 1.89x compute energy",
       Norms::kWithout},
      {{"fast", "", "", "w=2,a=2,g=4"},
       "W, A, G at 2, 2, 4 bits",
       "2-6x time to accuracy, at equal area over other formats",
       Norms::kAny},
      {{"procrustes", "", "x=0.5,dy=0,w=0.9", ""},
       "10 % of W, half of X",
       "up to 4x, up to 3.26x energy",
       Norms::kAny},
      {{"camel", "", "", ""},
       "reversible, whole network trained",
       "2.5x, 2.8x energy, of a small branch over other platforms",
       Norms::kAny},
      {{"in-place", "", "", ""}, "W and X turned through the buffer", "", Norms::kAny},
      {{"sampled-examples", "", "x=0.5,dy=0.5", ""},
       "half of dY's examples, half of those for dW",
       "up to 1.98x fewer operations of training",
       Norms::kAny},
      {{"sampled-channels", "", "dy=0.5", ""}, "half of dY's channels", "", Norms::kAny}};
  return kSystems;
}

bool has_norms(const layers::Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const layers::Row& row) {
    return row.op == "batch_norm" || row.op == "layer_norm";
  });
}

bool fits(const System& system, const std::string& model, const std::string& input) {
  return system.norms == Norms::kAny ||
         (system.norms == Norms::kWith) == has_norms(zoo::layer_table(model, input));
}

const MachineDesign* design_of(const MachineResult& result, const char* name) {
  for (const MachineDesign& design : result.designs) {
    if (design.name == name) return &design;
  }
  return nullptr;
}

}  // namespace

std::vector<SystemRow> compare_systems(const SystemsOptions& options) {
  std::vector<SystemRow> out;
  for (const System& system : systems()) {
    for (const std::string& model : parse_names(options.models, "--model")) {
      if (!fits(system, model, options.input)) continue;
      Options study;
      study.models = model;
      study.inputs = options.input;
      study.batches = std::to_string(options.batch);
      study.epochs = options.epochs;
      study.products_only = !options.vector_passes;
      study.accelerators.clear();
      out.push_back({run_machine(study, system.machine), system.setting, system.published});
    }
  }
  return out;
}

std::string systems_text(const std::vector<SystemRow>& rows) {
  report::Table table({"<system", "<network", "<operands", "alone (x)", "energy, with / without",
                       "equal area (x)", "Efficient on top (x)", "law (x)", "MAX on top (x)",
                       "both (x)", "<published"});
  for (const SystemRow& row : rows) {
    const PassPair batch = row.result.bp_batch();
    const MachineDesign& efficient = *design_of(row.result, "efficient");
    const MachineDesign& max = *design_of(row.result, "max");
    table.add_row(
        {row.result.machine->name, row.result.model, row.setting, core::fixed(batch.speedup(), 3),
         core::fixed(batch.energy / batch.base_energy, 3),
         row.result.equal_area_cycles > 0 ? core::fixed(row.result.equal_area_speedup(), 3) : "",
         core::fixed(efficient.speedup, 3), core::fixed(efficient.law, 3),
         core::fixed(max.speedup, 3), core::fixed(efficient.together, 3), row.published});
  }
  std::string text = table.console();
  text +=
      "alone: a BP batch against the same machine without its trick; on top: ADA-GP against "
      "backprop on the machine, by simulation and by the closed law (docs/systems.md); both: "
      "Efficient on the machine against backprop without the trick; equal area: a BP batch against "
      "plain MACs that take the area of the machine. Machines are never compared with each "
      "other.\n";
  const arrays::Machine* last = nullptr;
  for (const SystemRow& row : rows) {
    if (row.result.machine == last) continue;
    last = row.result.machine;
    for (const char* guess : last->guesses)
      text += core::cat("guess, ", last->name, ": ", guess, "\n");
  }
  return text;
}

std::string systems_json(const std::vector<SystemRow>& rows) {
  ordered_json out = ordered_json::array();
  for (const SystemRow& row : rows) {
    ordered_json one = ordered_json::parse(machine_json(row.result, false));
    one["setting"] = row.setting;
    one["published"] = row.published;
    out.push_back(std::move(one));
  }
  return dump(out, 2) + "\n";
}

}  // namespace adagp::study
