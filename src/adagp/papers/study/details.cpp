#include "adagp/papers/study/details.h"

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/layers/table_json.h"

namespace adagp::study {
namespace {

using nlohmann::ordered_json;

// How the row's products lie on the array, all of its passes together: MACs over cycles * PEs, MACs
// over the cycles in which PEs have work, folds. Vector rows have none.
struct Mapping {
  double utilisation = 0, active_pes = 0;
  int64_t folds = 0;
};

Mapping mapping_of(const accel::LayerPlan& layer, const accel::Point& point) {
  if (!layer.product) return {};
  std::vector<const accel::Work*> passes = {&layer.forward};
  if (!point.designs.empty()) {
    if (layer.input_gradient) passes.push_back(&*layer.input_gradient);
    if (layer.weight_gradient) passes.push_back(&*layer.weight_gradient);
  }
  const accel::Array& array = point.accelerator.array;
  double macs = 0, cycles = 0, working = 0;
  Mapping out;
  for (const accel::Work* work : passes) {
    const accel::ArrayCost cost = point.dataflow->cost(*work, array);
    macs += static_cast<double>(cost.macs);
    cycles += static_cast<double>(cost.cycles);
    working += static_cast<double>(cost.folds) * static_cast<double>(cost.stream);
    out.folds += cost.folds;
  }
  out.utilisation = macs / (cycles * static_cast<double>(array.pes()));
  out.active_pes = macs / working;
  return out;
}

// Of the second array while a layer runs; null where nothing runs (a row that belongs to another).
ordered_json idle_share(const accel::ArrayOverlap& overlap) {
  if (overlap.time == 0) return nullptr;
  return 1 - static_cast<double>(overlap.busy) / static_cast<double>(overlap.time);
}

const accel::DesignResult* with_second_array(const Details& details) {
  for (const accel::DesignResult& result : details.training.designs) {
    if (result.second.busy > 0) return &result;
  }
  return nullptr;
}

// For a roofline: how much a product computes for what it moves.
ordered_json pass_json(const accel::PassCost& cost) {
  return {{"macs", cost.macs},
          {"cycles", cost.array + cost.stall},
          {"dram_words", cost.dram_reads + cost.dram_writes}};
}

ordered_json layer_json(const Study& study, size_t run, const Details& details, size_t i) {
  const accel::Point& point = study.points[run];
  const accel::LayerPlan& plan = point.plan->layers[i];
  const accel::LayerCost& cost = details.layers[i];
  const Mapping mapping = mapping_of(plan, point);
  ordered_json out = {{"name", plan.name}, {"op", plan.op}};
  if (plan.product) {
    const accel::Gemm& gemm = plan.forward.gemm;
    out.update({{"m", gemm.m}, {"k", gemm.k}, {"n", gemm.n}, {"groups", plan.forward.groups}});
  }
  // In training the cycles of a layer are those of its whole BP batch, without the predictor.
  accel::PassCost all = cost.forward;
  if (training(details)) all += cost.backward();
  out.update(to_json(all));
  out["utilisation"] = mapping.utilisation;
  out["active_pes"] = mapping.active_pes;
  out["folds"] = mapping.folds;
  if (plan.product) {
    out["passes"]["forward"] = pass_json(cost.forward);
    if (training(details)) {
      if (plan.input_gradient) out["passes"]["input gradient"] = pass_json(cost.input_gradient);
      if (plan.weight_gradient) out["passes"]["weight gradient"] = pass_json(cost.weight_gradient);
    }
  }
  if (!training(details)) return out;
  out["forward_cycles"] = cost.forward.array;
  out["input_gradient_cycles"] = cost.input_gradient.array;
  out["weight_gradient_cycles"] = cost.weight_gradient.array;
  out["predictor_forward_cycles"] = cost.predictor_forward.array;
  out["predictor_backward_cycles"] = cost.predictor_backward.array;
  for (const accel::DesignResult& design : details.training.designs) {
    out["designs"][design.design->name] = {
        {"bp_batch_cycles", layer_total(design.backprop, i)},
        {"gp_batch_cycles", design.design->predicts ? layer_total(design.predict, i) : 0}};
    if (i < design.backprop.overlaps.size()) {
      ordered_json& own = out["designs"][design.design->name];
      own["bp_second_idle_share"] = idle_share(design.backprop.overlaps[i]);
      own["gp_second_idle_share"] = idle_share(design.predict.overlaps[i]);
    }
  }
  return out;
}

}  // namespace

bool training(const Details& details) {
  return !details.training.designs.empty();
}

int64_t layer_total(const accel::BatchCost& batch, size_t layer) {
  int64_t total = 0;
  if (layer < batch.forward.size()) total += batch.forward[layer].total();
  if (layer < batch.backward.size()) total += batch.backward[layer].total();
  return total;
}

Details detail(const Study& study, size_t run) {
  const accel::Point& point = study.points[run];
  Details details;
  const bool trains = !point.designs.empty();
  accel::evaluate(*point.plan, point.accelerator, *point.dataflow,
                  trains ? accel::Scope::kTraining : accel::Scope::kInference, details.layers);
  if (trains) {
    details.training = accel::simulate_training(*point.plan, point.accelerator, *point.dataflow,
                                                point.designs, point.run);
  } else {
    details.inference = accel::simulate_inference(*point.plan, point.accelerator, *point.dataflow);
  }
  return details;
}

ordered_json to_json(const Study& study, size_t run, const Details& details, bool per_layer) {
  ordered_json out = describe(study, run);
  if (training(details)) {
    out["backward_over_forward"] = accel::backward_over_forward(details.layers);
    out["peak_activation_bytes"] = {{"bp", details.training.peak_backprop_bytes},
                                    {"gp", details.training.peak_predict_bytes}};
    for (const accel::DesignResult& result : details.training.designs) {
      ordered_json one = to_json(accel::summary_of(result));
      one["bp_batch_energy"] = {{"forward_j", result.backprop.energy_forward.total()},
                                {"backward_j", result.backprop.energy_backward.total()},
                                {"predictor_j", result.backprop.energy_predictor.total()}};
      if (result.design->predicts) {
        one["gp_batch_energy"] = {{"forward_j", result.predict.energy_forward.total()},
                                  {"backward_j", result.predict.energy_backward.total()},
                                  {"predictor_j", result.predict.energy_predictor.total()}};
      }
      out["designs"][result.design->name] = std::move(one);
    }
  } else {
    out["peak_activation_bytes"] = details.inference.peak_bytes;
    out["total"] = to_json(details.inference.total);
  }
  const layers::Table& table = *study.cases[run].table;
  if (!table.uncounted.empty()) out["uncounted"] = layers::uncounted_json(table);
  if (!per_layer) return out;
  const accel::Accelerator& machine = study.points[run].accelerator;
  const double words = machine.dram_bytes_per_cycle / static_cast<double>(machine.word_bytes);
  out["roof"] = {{"macs_per_cycle", machine.array.pes()},
                 {"dram_words_per_cycle", words > 0 ? ordered_json(words) : ordered_json(nullptr)}};
  out["layers"] = ordered_json::array();
  for (size_t i = 0; i < details.layers.size(); ++i) {
    out["layers"].push_back(layer_json(study, run, details, i));
  }
  if (training(details)) {
    accel::PassCost total;
    for (const accel::LayerCost& layer : details.layers) {
      total += layer.forward;
      total += layer.backward();
    }
    out["total"] = to_json(total);  // of one BP batch, as the layers
  }
  return out;
}

std::string json_text(const Study& study, size_t run, const Details& details, bool per_layer) {
  return dump(to_json(study, run, details, per_layer), 2) + "\n";
}

void write_details(const Study& study, const Sink& sink) {
  sink("[");
  for (size_t run = 0; run < study.cases.size(); ++run) {
    if (run > 0) sink(",\n");
    sink(dump(to_json(study, run, detail(study, run), true), -1));
  }
  sink("]\n");
}

std::string layer_table(const Study& study, size_t run, const Details& details, bool csv) {
  const accel::Point& point = study.points[run];
  const bool trains = training(details);
  std::vector<std::string> titles = {"<layer", "<op", "M", "K", "N", "groups"};
  if (trains) {
    titles.insert(titles.end(),
                  {"forward (cycles)", "input gradient (cycles)", "weight gradient (cycles)",
                   "predictor forward (cycles)", "predictor backward (cycles)"});
  } else {
    titles.emplace_back("cycles");
  }
  titles.insert(titles.end(), {"vector (cycles)", "stall (cycles)", "utilisation (%)", "active PEs",
                               "SRAM (words)", "DRAM (words)", "energy (J)"});
  const accel::DesignResult* second = with_second_array(details);
  if (second != nullptr) {
    titles.insert(titles.end(), {"second array idle, BP (%)", "second array idle, GP (%)"});
  }
  report::Table table(titles);
  const auto count = [csv](int64_t value) {
    return csv ? std::to_string(value) : core::grouped(value);
  };
  const auto idle = [](const accel::BatchCost& batch, size_t layer) {
    const auto share = layer < batch.overlaps.size() ? idle_share(batch.overlaps[layer]) : nullptr;
    return share.is_null() ? std::string() : core::fixed(100 * share.get<double>(), 2);
  };
  const auto add = [&](std::vector<std::string> cells, const accel::LayerCost& cost,
                       const std::string& utilisation, const std::string& active, size_t layer) {
    accel::PassCost all = cost.forward;
    if (trains) all += cost.backward();
    cells.push_back(count(cost.forward.array));
    if (trains) {
      for (const auto* pass : {&cost.input_gradient, &cost.weight_gradient, &cost.predictor_forward,
                               &cost.predictor_backward}) {
        cells.push_back(count(pass->array));
      }
    }
    cells.push_back(count(all.vector));
    cells.push_back(count(all.stall));
    cells.push_back(utilisation);
    cells.push_back(active);
    cells.push_back(count(all.sram.total()));
    cells.push_back(count(all.dram_reads + all.dram_writes));
    cells.push_back(csv ? core::shortest(all.energy.total()) : significant(all.energy.total()));
    if (second != nullptr) {
      cells.push_back(idle(second->backprop, layer));
      cells.push_back(idle(second->predict, layer));
    }
    table.add_row(std::move(cells));
  };
  accel::LayerCost total;
  for (size_t i = 0; i < details.layers.size(); ++i) {
    const accel::LayerPlan& plan = point.plan->layers[i];
    const accel::LayerCost& cost = details.layers[i];
    const Mapping mapping = mapping_of(plan, point);
    const auto size = [&](int64_t value) { return plan.product ? count(value) : std::string(); };
    add({plan.name, plan.op, size(plan.forward.gemm.m), size(plan.forward.gemm.k),
         size(plan.forward.gemm.n), size(plan.forward.groups)},
        cost, plan.product ? core::fixed(100 * mapping.utilisation, 2) : "",
        plan.product ? core::fixed(mapping.active_pes, 1) : "", i);
    total.forward += cost.forward;
    total.input_gradient += cost.input_gradient;
    total.weight_gradient += cost.weight_gradient;
    total.vector_backward += cost.vector_backward;
    total.update_backprop += cost.update_backprop;
    total.predictor_forward += cost.predictor_forward;
    total.predictor_backward += cost.predictor_backward;
  }
  for (const layers::Uncounted& left_out : study.cases[run].table->uncounted) {
    if (left_out.macs == 0) continue;
    std::vector<std::string> cells(titles.size());
    cells[0] = left_out.name;
    cells[1] = "not simulated: " + left_out.op;
    table.add_row(std::move(cells));
  }
  add({"total", "", "", "", "", ""}, total, "", "", details.layers.size());
  return csv ? table.csv() : table.console();
}

std::string second_array_line(const Details& details) {
  const accel::DesignResult* result = with_second_array(details);
  if (result == nullptr) return "";
  const double share =
      static_cast<double>(result->second.busy) / static_cast<double>(result->cycles.total());
  return core::cat("second array of ", result->design->name, ": idle ",
                   core::fixed(100 * (1 - share), 1), " % of the time; buffer ",
                   significant(result->second.sram_words), " words, DRAM ",
                   significant(result->second.dram_words), " words, ",
                   significant(result->second.energy), " J\n");
}

std::string phase_table(const Details& details) {
  report::Table table(
      {"<design", "<phase", "batches", "cycles of a batch", "total cycles", "energy (J)"});
  for (const accel::DesignResult& result : details.training.designs) {
    const std::pair<const char*, const accel::PhaseTotal*> phases[] = {
        {"warm-up", &result.warm_up}, {"BP", &result.phase_bp}, {"GP", &result.phase_gp}};
    for (const auto& [name, phase] : phases) {
      if (phase->batches == 0) continue;
      table.add_row({result.design->name, name, core::grouped(phase->batches),
                     core::grouped(phase->cycles.total() / phase->batches),
                     core::grouped(phase->cycles.total()), significant(phase->energy.total())});
    }
  }
  return table.console();
}

}  // namespace adagp::study
