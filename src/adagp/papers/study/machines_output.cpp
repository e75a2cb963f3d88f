#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/machines.h"
#include "adagp/papers/study/output.h"
#include "adagp/results/report/chart.h"
#include "adagp/results/report/table.h"

namespace adagp::study {
namespace {

using core::cat;
using core::fixed;
using nlohmann::ordered_json;

std::string count_text(double value) {
  return core::grouped(std::llround(value));
}

std::string pass_table(const MachineResult& result) {
  report::Table table({"<pass", "without (cycles)", "with (cycles)", "speed-up (x)",
                       "energy without (J)", "energy with (J)"});
  const auto add = [&](const std::string& name, const PassPair& pass) {
    table.add_row({name, count_text(pass.base), count_text(pass.cycles), fixed(pass.speedup(), 3),
                   significant(pass.base_energy), significant(pass.energy)});
  };
  for (size_t i = 0; i < kPassNames.size(); ++i) add(kPassNames[i], result.passes[i]);
  if (result.recomputed.cycles > 0) {
    table.add_row({"computed again", "", count_text(result.recomputed.cycles), "", "",
                   significant(result.recomputed.energy)});
  }
  add("products of a BP batch", result.bp_batch());
  return table.console();
}

std::string design_table(const MachineResult& result) {
  report::Table table({"<ADA-GP on top", "speed-up on the machine (x)", "of products (x)",
                       "closed law (x)", "products, over neither (x)"});
  for (const MachineDesign& one : result.designs) {
    table.add_row({one.name, fixed(one.speedup, 3), fixed(one.speedup_products, 3),
                   fixed(one.law, 3), fixed(one.together, 3)});
  }
  return table.console();
}

std::string memory_table(const MachineResult& result) {
  report::Table table({"<eDRAM", "longest life (us)", "mean life (us)", "no refresh (% of words)",
                       "most refreshes", "peak (MiB)", "to DRAM (MiB)", "refresh (J)", "access (J)",
                       "DRAM (J)"});
  const auto mib = [](double bytes) { return fixed(bytes / (1 << 20), 2); };
  for (const MachineMemory& one : result.memory) {
    table.add_row({arrays::timeline_name(one.timeline), significant(one.cost.longest_us),
                   significant(one.cost.mean_us), core::fixed(100 * one.cost.fresh_share, 1),
                   core::grouped(one.cost.most_refreshes), mib(one.cost.peak_bytes),
                   mib(one.cost.spilled_bytes), significant(one.cost.refresh_j),
                   significant(one.cost.access_j), significant(one.cost.dram_j)});
  }
  return table.console() + cat("retention time ", core::shortest(result.retention_us), " us\n");
}

std::string layers_table(const MachineResult& result) {
  report::Table table(
      {"<layer", "forward (x)", "input gradient (x)", "weight gradient (x)", "all (x)"});
  for (const MachineLayer& layer : result.layers) {
    std::vector<std::string> cells = {layer.name};
    for (const PassPair& pass : layer.passes) {
      cells.push_back(pass.base > 0 ? fixed(pass.speedup(), 3) : "");
    }
    cells.push_back(fixed(sum_of(layer.passes).speedup(), 3));
    table.add_row(std::move(cells));
  }
  return table.console();
}

ordered_json pair_json(const PassPair& pass) {
  return {{"base_cycles", pass.base},
          {"cycles", pass.cycles},
          {"speedup", pass.speedup()},
          {"base_energy_j", pass.base_energy},
          {"energy_j", pass.energy}};
}

ordered_json passes_json(const PassPairs& passes) {
  ordered_json out;
  const char* const keys[] = {"forward", "input_gradient", "weight_gradient"};
  for (size_t i = 0; i < passes.size(); ++i) out[keys[i]] = pair_json(passes[i]);
  return out;
}

ordered_json memory_json(const MachineMemory& one) {
  const arrays::EdramCost& cost = one.cost;
  return {{"batch", arrays::timeline_name(one.timeline)},
          {"cycles", one.cycles},
          {"longest_us", cost.longest_us},
          {"mean_us", cost.mean_us},
          {"share_without_refresh", cost.fresh_share},
          {"most_refreshes", cost.most_refreshes},
          {"refreshed_words", cost.refreshed_words},
          {"peak_bytes", cost.peak_bytes},
          {"spilled_bytes", cost.spilled_bytes},
          {"refresh_j", cost.refresh_j},
          {"access_j", cost.access_j},
          {"leakage_j", cost.leakage_j},
          {"dram_j", cost.dram_j}};
}

report::LineChart lifetime_chart(const MachineResult& result) {
  report::LineChart chart;
  chart.title = core::cat(result.model, ", ", result.input, ", batch ", result.batch,
                          ": lives of activations and gradients");
  chart.x_title = "tensors that live at least so long (%)";
  chart.y_title = "lifetime (us)";
  chart.log_y = true;
  for (const MachineMemory& memory : result.memory) {
    report::LineSeries line;
    line.name = arrays::timeline_name(memory.timeline);
    const auto count = static_cast<double>(memory.lifetimes_us.size());
    for (size_t i = 0; i < memory.lifetimes_us.size(); ++i) {
      if (memory.lifetimes_us[i] <= 0) continue;  // read at once
      line.points.emplace_back(100 * static_cast<double>(i + 1) / count, memory.lifetimes_us[i]);
    }
    chart.series.push_back(std::move(line));
  }
  report::LineSeries retention;
  retention.name = core::cat("retention, ", core::shortest(result.retention_us), " us");
  retention.points = {{0, result.retention_us}, {100, result.retention_us}};
  retention.stroke = report::Stroke::kDashed;
  chart.series.push_back(std::move(retention));
  return chart;
}

report::BarChart speedup_chart(const MachineResult& result) {
  report::BarChart chart;
  chart.title = core::cat(result.machine->name, ": ", result.model, ", ", result.input);
  chart.x_title = "layer";
  chart.y_title = "speed-up over the machine without its trick";
  chart.reference = 1;
  for (size_t pass = 0; pass < kPassNames.size(); ++pass) {
    report::BarSeries series{kPassNames[pass], {}, static_cast<int>(pass)};
    for (const MachineLayer& layer : result.layers) {
      const PassPair& one = layer.passes[pass];
      // No bar where nothing is to do, with the trick or at all.
      series.values.push_back(one.cycles > 0 ? one.speedup() : 0);
    }
    chart.series.push_back(std::move(series));
  }
  for (const MachineLayer& layer : result.layers) chart.categories.push_back(layer.name);
  return chart;
}

}  // namespace

std::string machine_text(const MachineResult& result, bool per_layer) {
  std::string text = cat(result.machine->name, " (", result.accelerator, "), ", result.model, ", ",
                         result.input, ", batch ", result.batch, "; operands: ", result.source);
  if (!result.epochs.empty()) {
    const char* const unit = result.epochs.size() == 1 ? " epoch, " : " epochs, ";
    text += cat(" (", result.epochs.size(), unit, result.examples, " examples; means)");
  }
  text += cat("\nwithout the trick: ", result.machine->without, "\n\n", pass_table(result));
  if (result.total_base > 0) {
    const PassPair batch = result.bp_batch();
    text += cat("with vector passes: ", fixed(result.total_base / result.total, 3), "x; energy ",
                fixed(batch.energy / batch.base_energy, 3), ", of multipliers alone ",
                fixed(batch.compute / batch.base_compute, 3), " of that without\n");
  }
  if (result.equal_area_cycles > 0) {
    text += cat("at equal area: ", fixed(result.equal_area_speedup(), 3), "x over ",
                result.machine->equal_area_about, "\n");
  }
  if (per_layer) text += "\n" + layers_table(result);
  if (result.epochs.size() > 1) {
    text += "\nspeed-up by epoch:";
    for (const MachineEpoch& one : result.epochs) {
      text += cat(" ", one.epoch, ": ", fixed(sum_of(one.passes).speedup(), 3));
    }
    text += "\n";
  }
  if (result.standard_error > 0) {
    text +=
        cat("standard error over the examples of the last epoch: ", fixed(result.standard_error, 4),
            "\n");
  }
  if (!result.memory.empty()) text += "\n" + memory_table(result);
  if (!result.designs.empty()) {
    text += cat("\n", design_table(result), "share of GP batches ",
                fixed(result.predicted_share, 4), ", predictor's forward pass ",
                fixed(result.alpha, 4), " of a forward pass without the trick, its backward pass ",
                fixed(result.alpha_backward, 4),
                " (the law takes twice the former); the law of design max hides the predictor\n");
  }
  for (const std::string& remark : result.remarks) text += cat("* ", remark, "\n");
  for (const char* guess : result.machine->guesses) text += cat("guess: ", guess, "\n");
  return text;
}

std::string machine_json(const MachineResult& result, bool per_layer) {
  const PassPair batch = result.bp_batch();
  ordered_json out = {{"machine", result.machine->name},
                      {"without", result.machine->without},
                      {"model", result.model},
                      {"input", result.input},
                      {"batch", result.batch},
                      {"accelerator", result.accelerator},
                      {"operands", result.source},
                      {"machine_speedup", batch.speedup()},
                      {"machine_speedup_with_vector_passes", result.total_base / result.total},
                      {"machine_energy_ratio", batch.energy / batch.base_energy},
                      {"machine_compute_energy_ratio", batch.compute / batch.base_compute},
                      {"passes", passes_json(result.passes)}};
  if (result.equal_area_cycles > 0) {
    out["equal_area"] = {{"base", result.machine->equal_area_about},
                         {"base_cycles", result.equal_area_cycles},
                         {"speedup", result.equal_area_speedup()}};
  }
  if (result.recomputed.cycles > 0) out["recomputed"] = pair_json(result.recomputed);
  out["alpha"] = result.alpha;
  out["alpha_backward"] = result.alpha_backward;
  out["gp_share"] = result.predicted_share;
  out["designs"] = ordered_json::object();
  for (const MachineDesign& one : result.designs) {
    out["designs"][one.name] = {{"speedup", one.speedup},
                                {"speedup_products", one.speedup_products},
                                {"law", one.law},
                                {"together", one.together}};
  }
  if (!result.epochs.empty()) {
    out["trace_examples"] = result.examples;
    out["machine_speedup_standard_error"] = result.standard_error;
    out["epochs"] = ordered_json::array();
    for (const MachineEpoch& one : result.epochs) {
      ordered_json epoch = {{"epoch", one.epoch},
                            {"machine_speedup", sum_of(one.passes).speedup()},
                            {"passes", passes_json(one.passes)}};
      if (per_layer) {
        for (size_t i = 0; i < one.layers.size(); ++i) {
          epoch["layers"][result.layers[i].name] = passes_json(one.layers[i]);
        }
      }
      out["epochs"].push_back(std::move(epoch));
    }
  }
  if (!result.memory.empty()) {
    out["memory"] = ordered_json::array();
    for (const MachineMemory& one : result.memory) out["memory"].push_back(memory_json(one));
  }
  if (per_layer) {
    out["layers"] = ordered_json::array();
    for (const MachineLayer& layer : result.layers) {
      out["layers"].push_back({{"name", layer.name},
                               {"speedup", sum_of(layer.passes).speedup()},
                               {"passes", passes_json(layer.passes)}});
    }
  }
  out["remarks"] = result.remarks;
  out["guesses"] = result.machine->guesses;
  return dump(out, 2) + "\n";
}

std::string machine_picture(const MachineResult& result) {
  return result.memory.empty() ? report::svg(speedup_chart(result))
                               : report::svg(lifetime_chart(result));
}

}  // namespace adagp::study
