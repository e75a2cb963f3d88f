#include "adagp/papers/study/output.h"

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/layers/table_json.h"

namespace adagp::study {

using nlohmann::ordered_json;

std::string dump(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json to_json(const accel::Energy& energy) {
  return {{"mac_j", energy.mac},         {"registers_j", energy.registers},
          {"array_j", energy.array},     {"buffer_j", energy.buffer},
          {"dram_j", energy.dram},       {"vector_j", energy.vector},
          {"leakage_j", energy.leakage}, {"total_j", energy.total()}};
}

ordered_json to_json(const accel::PhaseSummary& phase) {
  return {{"batches", phase.batches},
          {"cycles", phase.compute},
          {"vector_cycles", phase.vector},
          {"stall_cycles", phase.stall},
          {"total_cycles", phase.compute + phase.vector + phase.stall},
          {"energy_j", phase.energy}};
}

ordered_json to_json(const accel::SecondArray& second) {
  return {{"busy_cycles", second.busy},
          {"macs", second.macs},
          {"sram_words", second.sram_words},
          {"dram_words", second.dram_words},
          {"energy_j", second.energy}};
}

ordered_json to_json(const accel::DesignSummary& one) {
  ordered_json out = {{"cycles", one.cycles.compute()},
                      {"predictor_cycles", one.cycles.predictor},
                      {"swap_cycles", one.cycles.swap},
                      {"vector_cycles", one.cycles.vector},
                      {"stall_cycles", one.cycles.stall},
                      {"total_cycles", one.cycles.total()},
                      {"seconds", one.seconds},
                      {"speedup", one.speedup},
                      {"energy_j", one.energy.total()},
                      {"energy_ratio", one.energy_ratio},
                      {"memory_energy_j", one.energy.memory()},
                      {"memory_energy_ratio", one.memory_energy_ratio},
                      {"energy", to_json(one.energy)},
                      {"phases",
                       {{"warm_up", to_json(one.warm_up)},
                        {"bp", to_json(one.phase_bp)},
                        {"gp", to_json(one.phase_gp)}}}};
  if (one.design->second_array && one.second.busy > 0) out["second_array"] = to_json(one.second);
  return out;
}

ordered_json to_json(const accel::PassCost& cost) {
  return {{"cycles", cost.array},
          {"vector_cycles", cost.vector},
          {"stall_cycles", cost.stall},
          {"total_cycles", cost.total()},
          {"macs", cost.macs},
          {"sram_ifmap_words", cost.sram.ifmap},
          {"sram_filter_words", cost.sram.filter},
          {"sram_ofmap_words", cost.sram.ofmap},
          {"sram_sum_words", cost.sram.sums},
          {"dram_read_words", cost.dram_reads},
          {"dram_write_words", cost.dram_writes},
          {"energy_j", cost.energy.total()},
          {"energy", to_json(cost.energy)}};
}

ordered_json describe(const Study& study, size_t run) {
  const Case& one = study.cases[run];
  const accel::Point& point = study.points[run];
  ordered_json out = {{"model", one.model},
                      {"input", one.input},
                      {"batch", one.batch},
                      {"accelerator", one.accelerator},
                      {"array", array_text(point.accelerator.array)},
                      {"pes", point.accelerator.array.pes()},
                      {"dataflow", point.dataflow->name}};
  if (!study.batch_note.empty()) out["batch_note"] = study.batch_note;
  out["missing"] = layers::missing_json(one.missing);
  if (!point.designs.empty()) {
    out["second_array"] = array_text(point.accelerator.second_array());  // of design max
    out["epochs"] = point.run.epochs;
    out["batches_per_epoch"] = point.run.batches_per_epoch;
    out["schedule"] = point.run.schedule.str();
    const predictor::Config& predictor = one.predictor;
    const bool remap = predictor.kind == "remap";
    out["predictor"] = {{"kind", predictor.kind},
                        {"channels", remap ? predictor.remap_channels : predictor.channels}};
    if (!remap) out["predictor"]["pooled"] = predictor.pooled;
    out["predictor"]["summary"] = predictor::summary_side(predictor);
  }
  return out;
}

void write_json(const Study& study, const std::vector<Row>& rows, const Sink& sink) {
  sink("[");
  for (size_t i = 0; i < rows.size();) {
    const size_t run = rows[i].run;
    ordered_json one = describe(study, run);
    if (study.points[run].designs.empty()) {
      one["total"] = to_json(study.results[run].inference);
      ++i;
    }
    for (; i < rows.size() && rows[i].run == run; ++i) {
      const accel::DesignSummary& summary = study.results[run].designs[rows[i].design];
      one["designs"][summary.design->name] = to_json(summary);
    }
    sink(dump(one, -1) + (i < rows.size() ? ",\n" : ""));
  }
  sink("]\n");
}

std::string scalesim_json(const scalesim::Config& config, const scalesim::Topology& topology,
                          const std::vector<scalesim::LayerReport>& layers) {
  nlohmann::ordered_json out = {{"run_name", config.run_name},
                                {"array", core::cat(config.rows, "x", config.columns)},
                                {"dataflow", config.dataflow},
                                {"layers", nlohmann::ordered_json::array()}};
  int64_t total = 0, stall = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const scalesim::LayerReport& layer = layers[i];
    total = accel::add(total, layer.total_cycles);
    stall = accel::add(stall, layer.stall_cycles);
    out["layers"].push_back({{"name", topology.layers[i].name},
                             {"total_cycles", layer.total_cycles},
                             {"total_cycles_with_prefetch", layer.total_with_prefetch},
                             {"stall_cycles", layer.stall_cycles},
                             {"utilisation", layer.overall_util / 100},
                             {"mapping_efficiency", layer.mapping_efficiency / 100},
                             {"compute_utilisation", layer.compute_util / 100},
                             {"sram_ifmap_words", layer.sram_ifmap.words},
                             {"sram_filter_words", layer.sram_filter.words},
                             {"sram_ofmap_words", layer.sram_ofmap.words},
                             {"dram_ifmap_words", layer.dram_ifmap.words},
                             {"dram_filter_words", layer.dram_filter.words},
                             {"dram_ofmap_words", layer.dram_ofmap.words},
                             {"accesses_exact", layer.exact}});
    if (!layer.note.empty()) out["layers"].back()["note"] = layer.note;
  }
  out["total"] = {{"total_cycles", total}, {"stall_cycles", stall}};
  return dump(out, 2) + "\n";
}

}  // namespace adagp::study
