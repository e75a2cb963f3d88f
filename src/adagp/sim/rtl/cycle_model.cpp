#include "adagp/sim/rtl/cycle_model.h"

#include <algorithm>
#include <array>

namespace adagp::rtl {

Counts& Counts::operator+=(const Counts& other) {
#define ADAGP_RTL_ADD(name) name += other.name;
  ADAGP_RTL_EVENTS(ADAGP_RTL_ADD)
#undef ADAGP_RTL_ADD
  return *this;
}

Counts Counts::operator*(std::uint64_t times) const {
  Counts out = *this;
#define ADAGP_RTL_TIMES(name) out.name *= times;
  ADAGP_RTL_EVENTS(ADAGP_RTL_TIMES)
#undef ADAGP_RTL_TIMES
  return out;
}

namespace {

std::uint64_t divide_up(int a, int b) {
  return static_cast<std::uint64_t>((a + b - 1) / b);
}

std::uint64_t tile_cycles(const Descriptor& d, int rows, int cols) {
  return (d.load_w ? cols : 0) + d.rows() + (rows + cols + 1) + (d.drain ? cols : 0) + 1;
}

// Rows that the unit reads, all passes together.
std::uint64_t beats(const Machine& machine, const Descriptor& d) {
  const std::uint64_t cells = static_cast<Op>(d.op) == Op::kReorg
                                  ? static_cast<std::uint64_t>(d.addr & 0xffff) * (d.addr >> 16)
                                  : 1;
  return d.rows() * cells * chunks(machine, d);
}

int engine_of(Op op) {
  switch (op) {
    case Op::kTile:
      return static_cast<int>(Engine::kMain);
    case Op::kPtile:
      return static_cast<int>(Engine::kPred);
    case Op::kDma:
      return static_cast<int>(Engine::kDma);
    case Op::kVec:
      return static_cast<int>(Engine::kVec);
    case Op::kReorg:
      return static_cast<int>(Engine::kReorg);
    default:
      return -1;
  }
}

// An update that measures the gradient and writes the layer's scale at its end.
bool writes_scale(const Machine& machine, const Descriptor& d) {
  return machine.has_predictor() && d.drain && d.bias && !d.psrc &&
         static_cast<VecKind>(d.kind) == VecKind::kSgd;
}

bool is_update(const Machine& machine, const Descriptor& d) {
  const auto kind = static_cast<VecKind>(d.kind);
  return kind == VecKind::kSgd || (kind == VecKind::kSgdPred && machine.has_predictor());
}

void count_events(const Machine& machine, const Descriptor& d, Counts& c) {
  const std::uint64_t busy = busy_cycles(machine, d);
  switch (static_cast<Op>(d.op)) {
    case Op::kTile:
      c.busy_main += busy;
      c.main_rows += d.rows();
      c.main_weight_rows += d.load_w ? machine.cols : 0;
      c.main_drain_rows += d.drain ? machine.cols : 0;
      break;
    case Op::kPtile:
      c.busy_pred += busy;
      c.pred_rows += d.rows();
      c.pred_weight_rows += d.load_w ? machine.pred_cols : 0;
      c.pred_drain_rows += d.drain ? machine.pred_cols : 0;
      break;
    case Op::kDma:
      c.busy_dma += busy;
      (d.store ? c.dma_store_beats : c.dma_load_beats) += d.n0;
      break;
    case Op::kVec:
      c.busy_vec += busy;
      c.vec_beats += beats(machine, d);
      if (is_update(machine, d)) c.update_rows += d.rows();
      break;
    case Op::kReorg:
      c.busy_reorg += busy;
      c.reorg_beats += beats(machine, d);
      break;
    default:
      break;
  }
}

}  // namespace

std::uint64_t chunks(const Machine& machine, const Descriptor& d) {
  if (static_cast<Op>(d.op) == Op::kReorg)
    return machine.has_predictor_array() && d.psrc ? divide_up(machine.rows, machine.pred_rows) : 1;
  switch (static_cast<VecKind>(d.kind)) {
    case VecKind::kAct:
      return divide_up(machine.rows, machine.cols);
    case VecKind::kBack:
      return divide_up(machine.cols, machine.rows);
    case VecKind::kGradient:
      return divide_up(machine.pred_rows, machine.rows);
    case VecKind::kError:
      return machine.has_predictor_array() ? divide_up(machine.rows, machine.pred_rows) : 1;
    default:
      return 1;
  }
}

std::uint64_t busy_cycles(const Machine& machine, const Descriptor& d) {
  switch (static_cast<Op>(d.op)) {
    case Op::kTile:
      return tile_cycles(d, machine.rows, machine.cols);
    case Op::kPtile:
      return tile_cycles(d, machine.pred_rows, machine.pred_cols);
    case Op::kDma:
      return 1 + (d.store ? 1 : 0) + d.n0;  // request, [first read], beats
    case Op::kVec:
      return (d.bias ? 1 : 0) + beats(machine, d) + 1 + (writes_scale(machine, d) ? 1 : 0);
    case Op::kReorg:
      return beats(machine, d) + 1;
    default:
      return 0;
  }
}

Counts predict_batch(const Machine& machine, std::span<const Descriptor> program, Phase phase) {
  Counts c;
  std::array<std::uint64_t, kEngineCount> idle_from{};  // first cycle in which the engine is idle
  std::uint64_t now = 0;
  for (const Descriptor& d : program) {
    now += 2;  // fetch, decode
    if (!(d.mask & bit(phase))) {
      ++c.skipped;
      ++now;
      continue;
    }
    const int engine = engine_of(static_cast<Op>(d.op));
    const bool end = static_cast<Op>(d.op) == Op::kEnd;
    for (int e = 0; e < kEngineCount; ++e)
      if (e == engine || end || (d.wait >> e & 1)) now = std::max(now, idle_from[e]);
    ++now;
    ++c.issued;
    if (engine >= 0) idle_from[engine] = now + busy_cycles(machine, d);
    count_events(machine, d, c);
    if (end) {
      ++now;
      break;
    }
  }
  c.cycles = now;
  (phase == Phase::kGp ? c.gp_batches : phase == Phase::kBp ? c.bp_batches : c.warm_batches) = 1;
  (phase == Phase::kGp ? c.gp_cycles : phase == Phase::kBp ? c.bp_cycles : c.warm_cycles) = now;
  return c;
}

Counts predict(const Machine& machine, const Program& program, const Schedule& schedule) {
  Counts total;
  for (const Phase phase : {Phase::kWarm, Phase::kBp, Phase::kGp})
    if (const std::uint64_t n = schedule.count(machine, phase))
      total += predict_batch(machine, program, phase) * n;
  return total;
}

}  // namespace adagp::rtl
