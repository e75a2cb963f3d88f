#include "golden.h"

#include <algorithm>
#include <bit>

#include "adagp/base/core/error.h"
#include "arithmetic.h"

namespace adagp::rtl {
namespace {

// The rows of the nested loops, in the order of the hardware.
std::vector<std::uint64_t> looped_rows(const Descriptor& d, std::uint64_t base) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i2 = 0; i2 < d.n2; ++i2)
    for (std::uint64_t i1 = 0; i1 < d.n1; ++i1)
      for (std::uint64_t i0 = 0; i0 < d.n0; ++i0)
        rows.push_back(base + i0 * d.s0 + i1 * d.s1 + i2 * d.s2);
  return rows;
}

bool is_negative(std::uint32_t x) {
  return x >> 31;
}

}  // namespace

Golden::Golden(const Machine& machine, std::size_t beats)
    : machine_(machine),
      outside_(beats * static_cast<std::size_t>(machine.lanes())),
      main_{machine.rows, machine.cols, {}, {}},
      pred_{machine.pred_rows, machine.pred_cols, {}, {}} {
  check(machine);
  for (int b = 0; b < kBufferCount; ++b) {
    const auto buffer = static_cast<Buffer>(b);
    if (machine.has(buffer))
      memory_[b].resize((std::size_t{1} << machine.address_bits(buffer)) *
                        machine.lanes_of(buffer));
  }
  for (Cells* cells : {&main_, &pred_}) {
    cells->weights.resize(static_cast<std::size_t>(cells->rows) * cells->cols);
    cells->sums.resize(cells->weights.size());
  }
}

std::uint32_t& Golden::at(Buffer b, std::uint64_t row, int lane) {
  return memory_[static_cast<int>(b)][row * machine_.lanes_of(b) + lane];
}

void Golden::run(const Program& program, const Schedule& schedule) {
  for (std::int64_t batch = 0; batch < schedule.batches(); ++batch)
    run_batch(program, schedule.at(machine_, batch));
}

void Golden::run_batch(const Program& program, Phase phase) {
  check(machine_, program);
  for (const Descriptor& d : program)
    if (d.mask & bit(phase)) {
      if (static_cast<Op>(d.op) == Op::kEnd) return;
      execute(d);
    }
}

void Golden::execute(const Descriptor& d) {
  switch (static_cast<Op>(d.op)) {
    case Op::kTile:
      return tile(d, main_,
                  {d.psrc ? Buffer::kPx : Buffer::kX, Buffer::kY, Buffer::kG, Buffer::kD,
                   Buffer::kW, Buffer::kO});
    case Op::kPtile:
      return tile(d, pred_,
                  {Buffer::kPx, Buffer::kPy, Buffer::kPg, Buffer::kPd, Buffer::kPw, Buffer::kPo});
    case Op::kDma:
      return transfer(d);
    case Op::kVec:
      return vector_op(d);
    case Op::kReorg:
      return reorganise(d);
    default:
      return;
  }
}

void Golden::tile(const Descriptor& d, Cells& cells, const Rows& of) {
  const int rows = cells.rows, cols = cells.cols;
  const Format f = machine_.format;
  const auto data = [&](Buffer b, std::uint64_t row, int lane) {
    return static_cast<std::uint16_t>(at(b, row, lane));
  };
  if (d.load_w)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c) cells.weights[r * cols + c] = data(of.w, d.wb + c, r);
  if (d.clear) cells.sums.assign(cells.sums.size(), 0);
  std::uint64_t plain = d.yb;
  for (const std::uint64_t row : looped_rows(d, d.xb)) {
    switch (static_cast<Mode>(d.mode)) {
      case Mode::kForward:
        for (int r = 0; r < rows; ++r) {
          std::uint32_t sum = d.acc_in ? at(of.y, plain, r) : 0;
          for (int c = 0; c < cols; ++c)
            sum = mac(f, data(of.x, row, c), cells.weights[r * cols + c], sum);
          at(of.y, plain, r) = sum;
        }
        break;
      case Mode::kDx:
        for (int c = 0; c < cols; ++c) {
          std::uint32_t sum = d.acc_in ? at(of.d, row, c) : 0;
          for (int r = 0; r < rows; ++r)
            sum = mac(f, data(of.g, plain, r), cells.weights[r * cols + c], sum);
          at(of.d, row, c) = sum;
        }
        break;
      case Mode::kDw:
        for (int r = 0; r < rows; ++r)
          for (int c = 0; c < cols; ++c) {
            std::uint32_t& sum = cells.sums[r * cols + c];
            sum = mac(f, data(of.x, row, c), data(of.g, plain, r), sum);
          }
        break;
    }
    ++plain;
  }
  if (d.drain)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c) at(of.o, d.wb + c, r) = cells.sums[r * cols + c];
}

void Golden::transfer(const Descriptor& d) {
  const auto buffer = static_cast<Buffer>(d.kind);
  const int lanes = machine_.lanes();
  if ((std::uint64_t{d.addr} + d.n0) * lanes > outside_.size())
    throw DataError("rtl: a transfer to beat " + std::to_string(std::uint64_t{d.addr} + d.n0) +
                    ": the outside memory has " + std::to_string(outside_.size() / lanes));
  const std::uint32_t keep = kBufferBits[d.kind] == 16 ? 0xffffu : 0xffffffffu;
  for (std::uint32_t i = 0; i < d.n0; ++i)
    for (int k = 0; k < lanes; ++k) {
      std::uint32_t& word = outside_[(std::uint64_t{d.addr} + i) * lanes + k];
      if (k >= machine_.lanes_of(buffer)) {
        if (d.store) word = 0;
      } else if (d.store) {
        word = at(buffer, d.xb + i, k);
      } else {
        at(buffer, d.xb + i, k) = word & keep;
      }
    }
}

// Lane j of the row is channel rot + j of the memory's groups of lanes.
void Golden::regroup(const std::vector<std::uint32_t>& row, Buffer to, std::uint64_t first,
                     std::uint32_t gs, std::uint32_t rot) {
  const std::size_t lanes = machine_.lanes_of(to);
  for (std::size_t j = 0; j < row.size(); ++j) {
    const std::size_t channel = rot + j;
    at(to, first + channel / lanes * gs, static_cast<int>(channel % lanes)) = row[j];
  }
}

void Golden::vector_op(const Descriptor& d) {
  const Format f = machine_.format;
  const auto kind = static_cast<VecKind>(d.kind);
  // Bias, ReLU and rounding of one sum.
  const auto activated = [&](Buffer from, std::uint64_t row, int lane) -> std::uint32_t {
    std::uint32_t sum = at(from, row, lane);
    if (from == Buffer::kY) sum = add(f, sum, d.bias ? at(Buffer::kP, d.wb, lane) : 0);
    if (d.relu && is_negative(sum)) sum = 0;
    return narrowed(f, sum, static_cast<int>(d.shift_a));
  };
  scale_ = d.bias ? at(Buffer::kP, d.wb, 0) & 31 : 0;  // before an update reaches this row
  if (d.clear) squares_ = 0;
  std::uint64_t plain = d.yb;
  for (const std::uint64_t row : looped_rows(d, d.xb)) {
    std::vector<std::uint32_t> out;
    switch (kind) {
      case VecKind::kAct:
        for (int r = 0; r < machine_.rows; ++r) out.push_back(activated(Buffer::kY, plain, r));
        regroup(out, Buffer::kX, row, d.gs, d.rot);
        break;
      case VecKind::kBack:
        for (int c = 0; c < machine_.cols; ++c) {
          const bool passes = !d.relu || static_cast<std::int16_t>(at(Buffer::kX, row, c)) > 0;
          out.push_back(passes ? narrowed(f, at(Buffer::kD, row, c), static_cast<int>(d.shift_a))
                               : 0);
        }
        regroup(out, Buffer::kG, plain, d.gs, d.rot);
        break;
      case VecKind::kOut:
        for (int r = 0; r < machine_.rows; ++r)
          at(Buffer::kG, row, r) = activated(Buffer::kY, plain, r);
        break;
      case VecKind::kSgd:
        if (d.bias && !d.psrc) measure(row);
        update(d, row, row, Buffer::kO);
        break;
      case VecKind::kSgdPred:
        update(d, row, plain, Buffer::kY);
        break;
      case VecKind::kGradient:
        for (int r = 0; r < machine_.pred_rows; ++r) out.push_back(at(Buffer::kPy, plain, r));
        regroup(out, d.psrc ? Buffer::kY : Buffer::kO, row, d.gs, d.rot);
        break;
      case VecKind::kError:
        error(d, row, plain - d.yb);
        break;
      case VecKind::kSlope:
        slope(d, row, plain - d.yb);
        break;
      case VecKind::kClear:
        for (int c = 0; c < machine_.cols; ++c) at(Buffer::kD, row, c) = 0;
        break;
    }
    ++plain;
  }
  if (!d.drain) return;
  // Means of squares, against 1 and 1/4, in 2^-16.
  const auto elements = static_cast<std::uint64_t>(d.addr);
  if (squares_ >= elements << 16) {
    if (scale_ > 0) --scale_;
  } else if (squares_ < elements << 14) {
    if (scale_ < 31) ++scale_;
  }
  for (int r = 0; r < machine_.rows; ++r) at(Buffer::kP, d.wb, r) = scale_;
}

void Golden::error(const Descriptor& d, std::uint64_t row, std::uint64_t index) {
  const Format f = machine_.format;
  std::vector<std::uint32_t> out;
  for (int r = 0; r < machine_.rows; ++r) {
    const std::uint32_t target = raised(f, at(Buffer::kO, row, r), static_cast<int>(scale_));
    std::uint32_t sum = add(f, at(Buffer::kY, d.yb + index, r), negated(f, target));
    if (d.relu && is_negative(sum)) sum = 0;
    out.push_back(
        static_cast<std::uint32_t>(r) < d.addr ? narrowed(f, sum, static_cast<int>(d.shift_a)) : 0);
  }
  const bool beside = machine_.has_predictor_array();
  regroup(out, beside ? Buffer::kPg : Buffer::kG, d.s3 + index, d.gs, beside ? d.rot : 0);
}

void Golden::slope(const Descriptor& d, std::uint64_t row, std::uint64_t index) {
  const bool beside = machine_.has_predictor_array();
  const Buffer y = beside ? Buffer::kPy : Buffer::kY, o = beside ? Buffer::kPo : Buffer::kO,
               g = beside ? Buffer::kPg : Buffer::kG;
  for (int r = 0; r < machine_.lanes_of(g); ++r) {
    const bool passes = static_cast<std::int32_t>(at(y, d.yb + index, r)) > 0;
    at(g, d.s3 + index, r) =
        passes ? narrowed(machine_.format, at(o, row, r), static_cast<int>(d.shift_a)) : 0;
  }
}

// The square of each gradient's power of two, in units of the scale.
void Golden::measure(std::uint64_t row) {
  for (int r = 0; r < machine_.rows; ++r) {
    const std::uint32_t g = at(Buffer::kO, row, r);
    int log = 0;
    if (machine_.format == Format::kFixed) {
      const auto value = static_cast<std::int64_t>(static_cast<std::int32_t>(g));
      if (value == 0) continue;
      log = std::bit_width(static_cast<std::uint64_t>(value < 0 ? -value : value)) - 1 - 16;
    } else {
      if ((g >> 23 & 0xff) == 0) continue;
      log = static_cast<int>(g >> 23 & 0xff) - 127;
    }
    const int d2 = 2 * std::min(log + static_cast<int>(scale_), 7);
    if (d2 >= -16) squares_ += static_cast<std::uint64_t>(1) << (d2 + 16);
  }
}

void Golden::update(const Descriptor& d, std::uint64_t row, std::uint64_t gradient_row,
                    Buffer gradient) {
  const Format f = machine_.format;
  const bool predicted = gradient == Buffer::kY || d.psrc;
  for (int r = 0; r < machine_.rows; ++r) {
    std::uint32_t& v = at(Buffer::kV, row, r);
    std::uint32_t& p = at(Buffer::kP, row, r);
    const std::uint32_t kept = add(f, v, negated(f, scaled(f, v, static_cast<int>(d.shift_a))));
    v = add(f, kept,
            scaled(f, at(gradient, gradient_row, r), predicted ? static_cast<int>(scale_) : 0));
    p = add(f, p, negated(f, scaled(f, v, static_cast<int>(d.shift_b))));
    at(Buffer::kW, row, r) = narrowed(f, p, static_cast<int>(d.rot));
  }
}

void Golden::reorganise(const Descriptor& d) {
  const Format f = machine_.format;
  const auto kind = static_cast<ReorgKind>(d.kind);
  const bool from_g = kind == ReorgKind::kGToO, from_pred = kind == ReorgKind::kPyToPw;
  const Buffer from = from_pred ? Buffer::kPy : Buffer::kY;
  const std::uint32_t c0 = d.addr & 0xffff, c1 = d.addr >> 16;
  std::uint64_t to = d.wb;
  for (std::uint32_t i1 = 0; i1 < c1; ++i1)
    for (std::uint32_t i0 = 0; i0 < c0; ++i0, ++to) {
      std::vector<std::uint32_t> sums;
      for (int r = 0; r < (from_pred ? machine_.pred_rows : machine_.rows); ++r) {
        std::uint32_t sum = 0;
        bool first = true;
        for (const std::uint64_t row :
             looped_rows(d, d.yb + std::uint64_t{i0} * d.xb + std::uint64_t{i1} * d.s3)) {
          std::uint32_t x = from_g ? widened(f, static_cast<std::uint16_t>(at(Buffer::kG, row, r)))
                                   : at(from, row, r);
          if (d.relu && is_negative(x)) x = 0;
          sum = first ? x : add(f, sum, x);
          first = false;
        }
        sums.push_back(from_g ? scaled(f, sum, static_cast<int>(d.shift_a))
                              : narrowed(f, sum, static_cast<int>(d.shift_a)));
      }
      if (d.psrc) {
        regroup(sums, Buffer::kPw, to, d.gs, d.rot);
      } else {
        const Buffer out = from_g ? Buffer::kO : from_pred ? Buffer::kPw : Buffer::kW;
        for (std::size_t r = 0; r < sums.size(); ++r) at(out, to, static_cast<int>(r)) = sums[r];
      }
    }
}

}  // namespace adagp::rtl
