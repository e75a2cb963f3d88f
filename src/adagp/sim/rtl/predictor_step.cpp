#include "adagp/sim/rtl/predictor_step.h"

#include <bit>

namespace adagp::rtl {

PredictorStep::PredictorStep(const Machine& machine, const Memories& memories, Outside& outside)
    : groups(pieces(machine.cols, machine.rows)),
      dense_groups(machine.learns_beside() ? pieces(machine.pred_cols, machine.rows) : groups),
      tile_lanes(machine.learns_beside() ? dense_groups * machine.rows : machine.cols),
      machine_(machine),
      at_(memories),
      input_tiles_(pieces(at_.conv.tiles * tile_lanes, machine.rows)),
      filter_tiles_(pieces(kFilter, machine.cols)),
      x_groups_(pieces(machine.rows, machine.cols) + 1) {
  const std::int64_t of_filters = filter_tiles_ * groups * kMaps,
                     of_dense = at_.dense.tiles * dense_groups * at_.dense.outputs;
  filters = {outside.take(of_filters), outside.take(of_filters)};
  dense = {outside.take(of_dense), outside.take(of_dense)};
  selections = outside.take(kSide * input_tiles_ * filter_tiles_ * machine.cols);
  const char* user = "the step of the predictor's convolution";
  require_rows("X", user,
               filter_tiles_ * x_groups_ * kMaps + (at_.conv.tiles + x_groups_) * kConvRows,
               at_.x_rows, "x_bits");
  require_rows("Y", user, (input_tiles_ + groups) * kConvRows, at_.y_rows, "y_bits");
  require_rows("W", user, groups * kMaps + (std::int64_t{1} << machine.w_bits) - at_.update_rows,
               std::int64_t{1} << machine.w_bits, "w_bits");
}

Program PredictorStep::program() const {
  Program out;
  step_filters(out);
  step_dense(out);
  return out;
}

void PredictorStep::step(Program& out, std::int64_t rows, std::int64_t number, std::int64_t from,
                         std::int64_t to, const Weights& weights, std::int64_t beat,
                         std::uint32_t shift) const {
  const std::int64_t count = number * rows, at = at_.update_first;
  Descriptor back = vec(kExactPhases, VecKind::kBack, rows, kAllEngines);
  back.xb = narrow(from);
  back.gs = narrow(rows);
  out.push_back(back);
  Descriptor gradients = descriptor(Op::kReorg, kExactPhases, kAllEngines);
  gradients.kind = static_cast<std::uint32_t>(ReorgKind::kGToO);
  gradients.n0 = gradients.n1 = gradients.n2 = gradients.xb = 1;
  gradients.addr = narrow(count) | 1 << 16;
  gradients.wb = narrow(at);
  out.push_back(gradients);
  out.push_back(load(kExactPhases, Buffer::kP, at, count, weights.precise + beat));
  out.push_back(load(kExactPhases, Buffer::kV, at, count, weights.velocities + beat));
  Descriptor sgd = vec(kExactPhases, VecKind::kSgd, count, kAllEngines);
  sgd.xb = narrow(at);
  sgd.shift_a = 3;
  sgd.shift_b = std::min<std::uint32_t>(shift, 31);
  out.push_back(sgd);
  out.push_back(store(kExactPhases, Buffer::kP, at, count, weights.precise + beat));
  out.push_back(store(kExactPhases, Buffer::kV, at, count, weights.velocities + beat));
  // Only Y has a way to the lanes of X.
  out.push_back(load(kExactPhases, Buffer::kY, 0, count, weights.precise + beat));
  for (std::int64_t group = 0; group < number; ++group) {
    Descriptor act = vec(kExactPhases, VecKind::kAct, rows, kAllEngines);
    act.yb = narrow(group * rows);
    act.xb = narrow(to);
    act.rot = narrow(group * machine_.rows);
    act.gs = narrow(rows);
    out.push_back(act);
  }
}

template <typename Add>
void PredictorStep::select(Program& out, const Add& add) const {
  std::vector<Stage> stages;
  for (std::int64_t column = 0; column < kSide; ++column)
    for (std::int64_t it = 0; it < input_tiles_; ++it)
      for (std::int64_t ft = 0; ft < filter_tiles_; ++ft) {
        const std::int64_t w = at_.update_first + (stages.size() % 2 != 0 ? machine_.cols : 0),
                           place = (column * input_tiles_ + it) * filter_tiles_ + ft;
        Stage stage;
        stage.loads.push_back(
            load(kExactPhases, Buffer::kW, w, machine_.cols, selections + place * machine_.cols));
        Descriptor d = tile(kExactPhases, Mode::kForward, kMaps);
        d.load_w = 1;
        d.wb = narrow(w);
        add(d, column, it, ft);
        stage.tiles.push_back(d);
        stages.push_back(std::move(stage));
      }
  emit(out, stages);
}

void PredictorStep::step_filters(Program& out) const {
  const std::int64_t rows = machine_.rows;
  const std::int64_t column_rows =
      (input_tiles_ + groups) * kMaps;                   // of G, for a column of the map
  const std::int64_t sums = at_.conv.tiles * kConvRows;  // of D: the filters' gradients
  out.push_back(load(kExactPhases, Buffer::kD, 0, sums, at_.conv_gradients));
  out.back().wait = kAllEngines;
  for (std::int64_t column = 0; column < kSide; ++column)
    for (std::int64_t kt = 0; kt < at_.conv.tiles; ++kt) {
      Descriptor d = vec(kExactPhases, VecKind::kBack, kMaps, kAllEngines);
      d.s0 = narrow(kSide);
      d.xb = narrow(kt * kConvRows + column);
      d.yb = narrow(column * column_rows + kt * tile_lanes / rows * kMaps);
      d.rot = narrow(kt * tile_lanes % rows);
      d.gs = narrow(kMaps);
      out.push_back(d);
    }
  select(out, [&](Descriptor& d, std::int64_t column, std::int64_t it, std::int64_t ft) {
    d.mode = static_cast<std::uint32_t>(Mode::kDx);
    d.acc_in = column > 0 || it > 0;
    d.xb = narrow(sums + ft * kMaps);
    d.yb = narrow(column * column_rows + it * kMaps);
  });
  const std::int64_t new_rows = x_groups_ * kMaps, matrix = filter_tiles_ * new_rows;
  const auto shift =
      kStepShift +
      static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(at_.dense.outputs)) - 1);
  for (std::int64_t ft = 0; ft < filter_tiles_; ++ft)
    step(out, kMaps, groups, sums + ft * kMaps, ft * new_rows, filters, ft * groups * kMaps, shift);
  select(out, [&](Descriptor& d, std::int64_t column, std::int64_t it, std::int64_t ft) {
    d.acc_in = ft > 0;
    d.xb = narrow(ft * new_rows);
    d.yb = narrow((column * input_tiles_ + it) * kMaps);
  });
  for (std::int64_t column = 0; column < kSide; ++column)
    for (std::int64_t it = 0; it < input_tiles_; ++it) {
      Descriptor d = vec(kExactPhases, VecKind::kAct, kMaps, kAllEngines);
      d.s0 = narrow(kSide);
      d.xb = narrow(matrix + it * rows / tile_lanes * kConvRows + column);
      d.yb = narrow((column * input_tiles_ + it) * kMaps);
      d.rot = narrow(it * rows % tile_lanes);
      d.gs = narrow(kConvRows);
      out.push_back(d);
    }
  out.push_back(store(kExactPhases, Buffer::kX, matrix, sums, at_.conv.outside));
}

void PredictorStep::step_dense(Program& out) const {
  const std::int64_t most = std::min(
      {kPredictedRows, at_.update_rows / groups, at_.y_rows / groups, at_.x_rows / x_groups_});
  for (std::int64_t kt = 0; kt < at_.dense.tiles; ++kt)
    for (std::int64_t j = 0, rows = 0; j < at_.dense.outputs; j += rows) {
      rows = std::min(most, at_.dense.outputs - j);
      const std::int64_t row = kt * at_.dense.outputs + j;
      out.push_back(load(kExactPhases, Buffer::kD, 0, rows, at_.dense_gradients + row));
      out.back().wait = kAllEngines;
      step(out, rows, dense_groups, 0, 0, dense, dense_groups * row, kStepShift);
      out.push_back(store(kExactPhases, Buffer::kX, 0, rows, at_.dense.beat(kt, j)));
    }
}

}  // namespace adagp::rtl
