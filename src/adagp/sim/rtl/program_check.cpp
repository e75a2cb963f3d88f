// What a program must not contain; see check() in descriptor.h.
#include "adagp/base/core/error.h"
#include "adagp/sim/rtl/cycle_model.h"
#include "adagp/sim/rtl/descriptor.h"

namespace adagp::rtl {
namespace {

class Checker {
 public:
  Checker(const Machine& machine, std::size_t index, const Descriptor& d)
      : machine_(machine), index_(index), d_(d) {}

  void run() const {
    switch (static_cast<Op>(d_.op)) {
      case Op::kBarrier:
      case Op::kEnd:
        return;
      case Op::kTile:
        return tile(Buffer::kX, Buffer::kY, Buffer::kW, machine_.cols);
      case Op::kPtile:
        if (!machine_.has_predictor_array()) fail("ptile needs design max");
        if (!machine_.pred_three_modes && d_.mode != 0)
          fail("the predictor's cells know `forward` alone");
        return tile(Buffer::kPx, Buffer::kPy, Buffer::kPw, machine_.pred_cols);
      case Op::kDma:
        return dma();
      case Op::kVec:
        return vec();
      case Op::kReorg:
        return reorg();
    }
    fail("operation " + std::to_string(d_.op) + " is unknown");
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw DataError("rtl: descriptor " + std::to_string(index_) + ": " + why);
  }

  void within(Buffer b, std::uint64_t last) const {
    if (!machine_.has(b))
      fail(std::string("this design has no memory ") + kBufferNames[static_cast<int>(b)]);
    const std::uint64_t size = std::uint64_t{1} << machine_.address_bits(b);
    if (last >= size)
      fail("row " + std::to_string(last) + " of memory " + kBufferNames[static_cast<int>(b)] +
           ", which has " + std::to_string(size) + " rows");
  }

  void loops() const {
    if (!d_.n0 || !d_.n1 || !d_.n2) fail("a loop of 0 rows");
  }

  std::uint64_t span() const {
    return static_cast<std::uint64_t>(d_.n0 - 1) * d_.s0 +
           static_cast<std::uint64_t>(d_.n1 - 1) * d_.s1 +
           static_cast<std::uint64_t>(d_.n2 - 1) * d_.s2;
  }

  void tile(Buffer x, Buffer y, Buffer w, int cols) const {
    loops();
    const auto mode = static_cast<Mode>(d_.mode);
    if (d_.mode >= kModeCount) fail("mode " + std::to_string(d_.mode) + " is unknown");
    if (d_.psrc && x == Buffer::kX) {
      if (machine_.design != Design::kEfficient) fail("psrc needs design efficient");
      if (mode == Mode::kDx) fail("psrc with mode dx: PX has no gradients");
      x = Buffer::kPx;
    }
    within(x, d_.xb + span());
    within(y, d_.yb + d_.rows() - 1);
    if (d_.load_w || d_.drain) within(w, d_.wb + cols - 1u);
    if ((d_.drain || d_.clear) && mode != Mode::kDw) fail("drain and clear belong to mode dw");
  }

  void dma() const {
    if (d_.kind >= kBufferCount) fail("memory " + std::to_string(d_.kind) + " is unknown");
    if (!d_.n0) fail("a transfer of 0 rows");
    within(static_cast<Buffer>(d_.kind), std::uint64_t{d_.xb} + d_.n0 - 1);
  }

  // Rows of a regrouped write reach one group further than the last chunk.
  void regrouped(Buffer b, std::uint64_t last, int lanes) const {
    if (d_.rot >= static_cast<std::uint32_t>(lanes))
      fail("rot " + std::to_string(d_.rot) + " of " + std::to_string(lanes) + " lanes");
    within(b, last + (chunks(machine_, d_) - (d_.rot ? 0 : 1)) * d_.gs);
  }

  void vec() const {
    if (d_.kind >= kVecCount) fail("vec kind " + std::to_string(d_.kind) + " is unknown");
    loops();
    const auto kind = static_cast<VecKind>(d_.kind);
    const std::uint64_t looped = d_.xb + span();
    const std::uint64_t plain = d_.yb + d_.rows() - 1;
    if (d_.bias) within(Buffer::kP, d_.wb);
    const bool update = kind == VecKind::kSgd || kind == VecKind::kSgdPred;
    const bool learns = kind == VecKind::kError || kind == VecKind::kSlope;
    if (learns && !machine_.learns()) fail("error and slope need a predictor that learns");
    if (kind == VecKind::kError && !d_.bias) fail("error needs the scale of the gradient (bias)");
    if (kind == VecKind::kError && d_.addr > static_cast<std::uint32_t>(machine_.rows))
      fail("error of " + std::to_string(d_.addr) + " of " + std::to_string(machine_.rows) +
           " lanes");
    if (d_.bias && kind != VecKind::kAct && kind != VecKind::kOut && kind != VecKind::kError &&
        !update)
      fail("bias belongs to act, out, error, sgd and sgd_pred");
    if (d_.bias && update && !machine_.has_predictor())
      fail("the scale of a gradient needs a design with a predictor");
    if (d_.psrc && kind == VecKind::kGradient && !machine_.learns_beside())
      fail("gradient with psrc needs a predictor array that learns");
    if (d_.psrc && kind != VecKind::kGradient && (kind != VecKind::kSgd || !d_.bias))
      fail("psrc belongs to gradient, and to sgd with a scale: its gradient is a predicted one");
    if ((d_.clear || d_.drain) && (kind != VecKind::kSgd || !d_.bias || d_.psrc))
      fail("drain and clear belong to sgd that measures its gradient");
    if (d_.drain && !d_.addr) fail("a scale of 0 gradients");
    switch (kind) {
      case VecKind::kAct:
        within(Buffer::kY, plain);
        return regrouped(Buffer::kX, looped, machine_.cols);
      case VecKind::kBack:
        within(Buffer::kD, looped);
        return regrouped(Buffer::kG, plain, machine_.rows);
      case VecKind::kOut:
        within(Buffer::kY, plain);
        return within(Buffer::kG, looped);
      case VecKind::kSgdPred:
        if (!machine_.has_predictor()) fail("sgd_pred needs a design with a predictor");
        within(Buffer::kY, plain);
        [[fallthrough]];
      case VecKind::kSgd:
        if (d_.rot > 31) fail("rot " + std::to_string(d_.rot) + ": weights are shifted by 0 to 31");
        return within(Buffer::kP, looped);
      case VecKind::kGradient:
        within(Buffer::kPy, plain);
        return regrouped(d_.psrc ? Buffer::kY : Buffer::kO, looped, machine_.rows);
      case VecKind::kClear:
        return within(Buffer::kD, looped);
      case VecKind::kError:
      case VecKind::kSlope:
        return learning(kind, looped, plain, d_.s3 + d_.rows() - 1);
    }
  }

  void learning(VecKind kind, std::uint64_t looped, std::uint64_t plain,
                std::uint64_t results) const {
    const bool beside = machine_.has_predictor_array();
    const bool error = kind == VecKind::kError;
    within(beside && !error ? Buffer::kPo : Buffer::kO, looped);
    within(beside && !error ? Buffer::kPy : Buffer::kY, plain);
    if (beside && error) return regrouped(Buffer::kPg, results, machine_.pred_rows);
    within(beside ? Buffer::kPg : Buffer::kG, results);
  }

  void reorg() const {
    if (d_.kind >= kReorgCount) fail("reorg kind " + std::to_string(d_.kind) + " is unknown");
    loops();
    const std::uint64_t c0 = d_.addr & 0xffff, c1 = d_.addr >> 16;
    if (!c0 || !c1) fail("a reorganisation of 0 cells");
    const auto kind = static_cast<ReorgKind>(d_.kind);
    const bool from_g = kind == ReorgKind::kGToO, from_pred = kind == ReorgKind::kPyToPw;
    if (!from_g && !machine_.has_predictor()) fail("y_to_w needs a design with a predictor");
    if (d_.relu && from_g) fail("relu belongs to y_to_w and py_to_pw");
    within(from_g      ? Buffer::kG
           : from_pred ? Buffer::kPy
                       : Buffer::kY,
           d_.yb + span() + (c0 - 1) * d_.xb + (c1 - 1) * d_.s3);
    const std::uint64_t last = d_.wb + c0 * c1 - 1;
    if (!d_.psrc) return within(from_g ? Buffer::kO : from_pred ? Buffer::kPw : Buffer::kW, last);
    if (kind != ReorgKind::kYToW) fail("psrc belongs to y_to_w");
    regrouped(Buffer::kPw, last, machine_.pred_rows);
  }

  const Machine& machine_;
  std::size_t index_;
  const Descriptor& d_;
};

}  // namespace

void check(const Machine& machine, const Program& program) {
  check(machine);
  const std::size_t room = std::size_t{1} << machine.descriptor_bits;
  if (program.size() > room)
    throw DataError("rtl: " + std::to_string(program.size()) +
                    " descriptors: the program memory has " + std::to_string(room));
  for (std::size_t i = 0; i < program.size(); ++i) Checker(machine, i, program[i]).run();
  // An `end` that some phase skips would let the program counter run on.
  if (program.empty() || static_cast<Op>(program.back().op) != Op::kEnd ||
      program.back().mask != kEveryPhase)
    throw DataError("rtl: the last descriptor must be `end` with the mask of every phase");
}

}  // namespace adagp::rtl
