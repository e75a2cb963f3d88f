#pragma once
// One run in full: phases, layers, pictures.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "adagp/papers/study/output.h"
#include "adagp/papers/study/study.h"
#include "adagp/results/report/chart.h"
#include "adagp/sim/accel/simulate.h"

namespace adagp::study {

// A case with everything the sweep leaves out.
struct Details {
  std::vector<accel::LayerCost> layers;  // one batch
  accel::TrainingResult training;        // empty for inference
  accel::InferenceResult inference;
};
Details detail(const Study& study, size_t run);
bool training(const Details& details);
// Cycles of a layer in one batch, its forward and backward part together.
int64_t layer_total(const accel::BatchCost& batch, size_t layer);

// {"model": ..., "designs": {"max": {...}}} of a training run, {"total": {...}} of inference;
// with `per_layer` also "layers" and, in both, "total".
nlohmann::ordered_json to_json(const Study& study, size_t run, const Details& details,
                               bool per_layer);
std::string json_text(const Study& study, size_t run, const Details& details, bool per_layer);
// All runs of a study with their layers, as an array; a run at a time, because they are long.
void write_details(const Study& study, const Sink& sink);

std::string layer_table(const Study& study, size_t run, const Details& details, bool csv);
std::string phase_table(const Details& details);
// How busy the second array of design max is, and its traffic; "" without one.
std::string second_array_line(const Details& details);

// One run: cycles per layer, of training by phase beside the original's (the paper's Fig. 16).
report::BarChart layer_chart(const Study& study, size_t run, const Details& details);
// The runs of `rows`: speed-ups (Figs. 17-19), of inference cycles. UsageError for more than 200.
// The fronts of --pareto, a line for each network.
report::LineChart front_chart(const Study& study, const std::vector<Front>& fronts,
                              const std::string& values);
report::BarChart runs_chart(const Study& study, const std::vector<Row>& rows);

}  // namespace adagp::study
