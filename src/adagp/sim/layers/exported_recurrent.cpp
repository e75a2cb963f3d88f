// LSTM, GRU and plain recurrent layers: one product of the whole sequence with the input weights,
// then one product a step with the recurrent weights, each of one position.
#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/exported_rows.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::layers {
namespace {

constexpr int64_t kMostSteps = 100'000;  // a step is a row

}  // namespace

bool RowReader::recurrent(const Node& node) {
  const Value* input = operand(node, "input");
  if (input == nullptr || (input->dim() != 3 && input->dim() != 2)) return false;
  const bool alone = input->dim() == 2;  // one sequence, without a batch
  const bool batch_first = !alone && node.flag("batch_first");
  const int64_t steps = input->size(batch_first ? 1 : 0);
  const int64_t sequences = alone ? 1 : input->size(batch_first ? 0 : 1);
  if (sequences == 1 && batch_ > 1) unbatched = true;
  // The network's own input: its sequences are the examples, and what comes first may be the steps.
  const bool own = !graph_.inputs.empty() && node.tensor("input") == graph_.inputs.front();
  if (own && sequences != batch_ && undivided.empty()) undivided = node.outputs.at(0);
  const auto params = node.tensors("params"), states = node.tensors("hx");
  // An LSTM may project its state: then its two states differ in width.
  const bool projects =
      states.size() == 2 && value(states[0]).size(-1) != value(states[1]).size(-1);
  const size_t each = (node.flag("has_biases") ? 4 : 2) + (projects ? 1 : 0);
  if (params.empty() || params.size() % each != 0 || sequences < 1) return false;
  if (steps > kMostSteps) throw DataError(core::cat("has a sequence of ", steps, " steps"));

  for (size_t first = 0; first < params.size(); first += each) {
    // weight_ih [gates, in], weight_hh [gates, state], bias_ih, bias_hh, weight_hr [state, hidden]
    const auto param = [&](size_t i) -> const Value& { return value(params[first + i]); };
    const bool biases = node.flag("has_biases");
    const auto apply = [&](size_t weight, int64_t positions, const Value* bias) {
      const Value& w = param(weight);
      return w.dim() == 2 && weight_product(node, w, bias, {positions, w.size(1), w.size(0), 1});
    };
    const int64_t positions = product_of({steps, sequences});
    if (!apply(0, positions, biases ? &param(2) : nullptr)) return false;
    for (int64_t step = 0; step < steps; ++step) {
      if (!apply(1, sequences, biases ? &param(3) : nullptr)) return false;
      if (projects && !apply(each - 1, sequences, nullptr)) return false;
    }
    // The gates, and the LSTM's state once more.
    const int64_t gates = param(0).size(0);
    Row row;
    row.op = "activation";
    row.name = names_.operation(row.op);
    row.input = row.output = {node.op == "lstm" ? gates / 4 * 5 : gates, 1, per_example(positions)};
    add(std::move(row));
  }
  return true;
}

bool RowReader::recurrent_cell(const Node& node) {
  const Value* input = operand(node, "input");
  if (input == nullptr || input->dim() < 1) return false;
  for (const std::string part : {"ih", "hh"}) {
    const Value* weight = operand(node, "w_" + part);
    if (weight == nullptr || weight->dim() != 2 || input->size(-1) < 1) return false;
    const int64_t positions = input->elements() / input->size(-1);
    const Value* bias = operand(node, "b_" + part);
    if (!weight_product(node, *weight, bias, {positions, weight->size(1), weight->size(0), 1})) {
      return false;
    }
  }
  return true;
}

}  // namespace adagp::layers
