#include "adagp/sim/accel/plan.h"

#include <algorithm>
#include <array>
#include <set>

#include "adagp/base/core/lookup.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/plan_parts.h"

namespace adagp::accel {
namespace {

constexpr int kLossPasses = 4;

const VectorRule& rule_of(const layers::Row& row) {
  std::vector<std::string> known = {"conv2d", "conv3d", "conv_transpose", "linear", "matmul"};
  for (const VectorRule& rule : vector_rules()) {
    if (row.op == rule.op) return rule;
    known.emplace_back(rule.op);
  }
  throw DataError("layer '" + row.name + "': op '" + row.op + "' is unknown" +
                  core::suggestion(row.op, known));
}

bool works_in_place(const std::string& op) {
  return op == "activation" || op == "add" || op == "concat";
}

void plan_vector(const layers::Row& row, const PlanOptions& options, int64_t in, int64_t out,
                 LayerPlan& layer) {
  const VectorRule& rule = rule_of(row);
  if (!options.vector_passes) return;
  layer.vector_forward = mul(std::max(in, out), rule.forward);
  if (layer.frozen) return;
  layer.vector_backward = mul(std::max(in, out), rule.backward);
  layer.update_backprop = add(row.weights, row.bias);
}

void plan_product(const layers::Row& row, const PlanOptions& options, bool first, int64_t widest,
                  LayerPlan& layer) {
  const bool has_weights = row.op != "matmul";
  layer.product = true;
  layer.weighted = has_weights && !layer.frozen && !layers::is_repeated(row);
  layer.forward = forward_work(row, options.batch, options.size_rule);
  if (layer.frozen) return;
  if (!first || !has_weights) layer.input_gradient = input_gradient_work(layer.forward, row);
  layer.weight_gradient = weight_gradient_work(layer.forward, row);
  if (!layer.weighted) return;
  layer.predictor = plan_predictor(options.predictor, row, options.batch, widest);
  if (options.vector_passes) {
    layer.update_backprop = add(row.weights, row.bias);
    layer.update_predict = predicts_biases(options.predictor) ? layer.update_backprop : row.weights;
  } else {
    PredictorPlan& p = layer.predictor;
    p.reorganised = p.vector_forward = p.vector_backward = 0;
  }
}

void check_table(const layers::Table& table, const PlanOptions& options) {
  if (options.batch < 1) {
    throw UsageError(core::cat("batch is ", options.batch, ", expected at least 1"));
  }
  check_predictor(options.predictor);
  if (table.rows.empty()) throw DataError("layer table '" + table.model + "': no layers");
  std::set<std::string> names;
  for (const layers::Row& row : table.rows) {
    if (!names.insert(row.name).second) {
      throw DataError("layer '" + row.name + "': the name appears twice");
    }
    if (!layers::is_product(row)) rule_of(row);
  }
}

// Sizes come first: forward_work says which of them is wrong, the predictor takes them for granted.
int64_t widest_of(const layers::Table& table, const PlanOptions& options) {
  int64_t widest = 1;
  for (const layers::Row& row : table.rows) {
    if (!layers::is_product(row)) continue;
    forward_work(row, options.batch, options.size_rule);
    if (row.op != "matmul" && row.frozen == 0)
      widest = std::max(widest, predictor_width(options.predictor, row));
  }
  return widest;
}

int64_t words_of(const layers::Row& row, const std::array<int64_t, 3>& shape, int64_t depth,
                 int64_t batch) {
  for (const int64_t side : shape) {
    if (side < 1) {
      throw DataError(
          core::cat("layer '", row.name, "': a size is ", side, ", expected at least 1"));
    }
  }
  return mul(mul(batch, depth), shape[0], shape[1], shape[2]);
}

int64_t words_in(const layers::Row& row, int64_t batch) {
  return words_of(row, row.input, row.depth.input, batch);
}

int64_t words_out(const layers::Row& row, int64_t batch) {
  return words_of(row, row.output, row.depth.output, batch);
}

LayerPlan plan_row(const layers::Row& row, const PlanOptions& options, bool first, int64_t widest) {
  LayerPlan layer;
  layer.name = row.name;
  layer.op = row.op;
  layer.input = row.input;
  layer.output = row.output;
  layer.frozen = row.frozen != 0;
  const int64_t in = words_in(row, options.batch);
  const int64_t out = words_out(row, options.batch);
  if (layers::is_product(row)) {
    plan_product(row, options, first, widest, layer);
  } else {
    plan_vector(row, options, in, out, layer);
  }
  layer.kept_words = works_in_place(row.op) ? 0 : out;
  layer.live_words = row.op == "activation" ? out : add(in, out);
  if (row.op == "matmul") layer.live_words = add(layer.live_words, layer.forward.tensors.filter);
  return layer;
}

// One a batch, in the first layer, or one in each layer.
void add_predictor_steps(const PlanOptions& options, Plan& plan) {
  if (!options.vector_passes) return;
  const predictor::Config& predictor = options.predictor;
  const bool in_each = predictor.kind == "shared" && predictor.steps == "per-layer";
  for (LayerPlan& layer : plan.layers) {
    if (!layer.weighted) continue;
    int64_t& adam = layer.predictor.vector_backward;
    adam = add(adam, plan.predictor_weights);
    if (!in_each) return;
  }
}

bool cost_the_same(const LayerPlan& a, const LayerPlan& b) {
  return a.product == b.product && a.weighted == b.weighted && a.forward == b.forward &&
         a.input_gradient == b.input_gradient && a.weight_gradient == b.weight_gradient &&
         a.vector_forward == b.vector_forward && a.vector_backward == b.vector_backward &&
         a.update_backprop == b.update_backprop && a.update_predict == b.update_predict &&
         a.predictor == b.predictor;
}

void find_repeated(Plan& plan) {
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!cost_the_same(plan.layers[j], plan.layers[i])) continue;
      plan.layers[i].same_as = j;
      break;
    }
  }
}

}  // namespace

const std::vector<VectorRule>& vector_rules() {
  static const std::vector<VectorRule> rules = {
      {"batch_norm", 2, 2}, {"layer_norm", 2, 2}, {"softmax", 3, 2}, {"activation", 1, 1},
      {"add", 1, 0},        {"pool", 1, 1},       {"concat", 0, 0},  {"embedding", 1, 1},
  };
  return rules;
}

UpdateWords update_words(const std::string& optimizer, bool master) {
  static constexpr std::pair<const char*, int64_t> kNumbers[] = {
      {"sgd", 1}, {"momentum", 2}, {"adam", 3}};
  const int64_t numbers = core::find_named(kNumbers, optimizer, "unknown optimizer").second;
  return master ? UpdateWords{2 * numbers, 2 * numbers + 1} : UpdateWords{numbers, numbers};
}

Plan make_plan(const layers::Table& table, const PlanOptions& options) {
  check_table(table, options);
  const int64_t widest = widest_of(table, options);
  Plan plan;
  plan.model = table.model;
  plan.input = table.input;
  plan.batch = options.batch;
  plan.update = options.update;
  plan.predictor_weights = predictor_size(options.predictor, widest);
  bool first = true;  // nothing before needs a gradient
  for (const layers::Row& row : table.rows) {
    try {
      plan.layers.push_back(plan_row(row, options, first, widest));
    } catch (const Overflow& e) {
      throw DataError("layer '" + row.name + "': " + e.what());
    }
    const bool learns = layers::is_product(row) || row.weights > 0 || row.bias > 0;
    if (learns && row.frozen == 0) first = false;
  }
  const layers::Row& last = table.rows.back();
  if (options.vector_passes) {
    int64_t& loss = plan.layers.back().vector_backward;
    loss = add(loss, mul(kLossPasses, words_out(last, options.batch)));
  }
  plan.input_words = words_in(table.rows.front(), options.batch);
  add_predictor_steps(options, plan);
  find_repeated(plan);
  return plan;
}

int64_t peak_words_backprop(const Plan& plan) {
  int64_t words = plan.layers.front().frozen ? 0 : plan.input_words;
  for (const LayerPlan& layer : plan.layers) {
    if (layer.frozen && layer.op != "pool") continue;
    words = add(words, layer.kept_words);
  }
  return words;
}

int64_t peak_words_forward(const Plan& plan) {
  int64_t words = 0;
  for (const LayerPlan& layer : plan.layers) words = std::max(words, layer.live_words);
  return words;
}

}  // namespace adagp::accel
