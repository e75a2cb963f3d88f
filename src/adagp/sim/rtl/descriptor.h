#pragma once
// Descriptors: what the machine's program consists of, their bits, and the program file.
// Torch-free.
//
// Which fields an operation reads (all others are 0):
// clang-format off
//   every op   op, mask (batches: 1 gp, 2 bp, 4 warm), wait (engines: 1 main 2 pred 4 dma 8 vec
//              16 reorg; these must be idle first; the own engine always must)
//   tile       mode, load_w (COLS rows of W from wb), acc_in (add to what Y or D holds), clear (dw:
//              sums start at 0), drain (dw: sums go to COLS rows of O from wb), psrc (efficient: x
//              from PX); x row = xb + nested loops n0,n1,n2 with strides s0,s1,s2; Y/G row = yb +
//              0,1,2,...
//   ptile      the same on the predictor array: x from PX, the others are PW, PY, PG, PD, PO
//   dma        kind (buffer), store, n0 rows from row xb, addr (outside memory, in beats)
//   vec        kind (VecKind), loops from xb, plain rows from yb, relu, bias (row wb of P), shift_a,
//              gs and rot (regrouped lanes); sgd: shift_a momentum, shift_b step size, rot to weights.
//              sgd, sgd_pred with bias: row wb of P has the layer's scale, a shift. A predicted
//              gradient (sgd_pred, sgd with psrc) is divided by 2^scale; another one is measured:
//              clear (a new sum), drain (over addr elements the scale is moved and written).
//              error, slope: Y has the plain rows, O the loops, G rows from s3 on; error: bias, the scale,
//              addr lanes with a channel. max: errors go to PG (gs, rot), slopes are those of PY, PO, PG;
//              gradient: psrc (into Y, not O)
//   reorg      kind (ReorgKind), window loops n,s from yb; cells addr = c0 + 65536 c1 with strides
//              xb and s3; results in rows from wb; shift_a; relu; y_to_w: psrc (max: into PW, with
//              rot and gs)
// clang-format on

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "adagp/sim/rtl/machine.h"
#include "adagp/sim/rtl/phases.h"

namespace adagp::rtl {

struct Descriptor {
#define ADAGP_RTL_MEMBER(name, first, bits) std::uint32_t name = 0;
  ADAGP_RTL_FIELDS(ADAGP_RTL_MEMBER)
#undef ADAGP_RTL_MEMBER
  bool operator==(const Descriptor&) const = default;

  // n0 * n1 * n2
  std::uint64_t rows() const {
    return static_cast<std::uint64_t>(n0) * n1 * n2;
  }
};

using Program = std::vector<Descriptor>;
using Words = std::array<std::uint32_t, kDescriptorBits / 32>;  // least significant word first

inline constexpr std::uint32_t kEveryPhase = 7;

constexpr std::uint32_t bit(Phase phase) {
  return 1u << static_cast<int>(phase);
}
constexpr std::uint32_t bit(Engine engine) {
  return 1u << static_cast<int>(engine);
}

// Throws UsageError when a field has more bits than the table gives it.
Words encode(const Descriptor& descriptor);
Descriptor decode(const Words& words);

// Throws DataError naming the first descriptor that this machine cannot execute: an unknown
// operation, one that the design lacks, a loop of 0 rows, rows beyond a memory, a last descriptor
// that is not `end`, or more descriptors than the program memory holds.
void check(const Machine& machine, const Program& program);

struct ProgramFile {
  Machine machine;
  Schedule schedule;
  Program program;
};

// Text: a header that names the machine and the schedule, one line of hex digits per descriptor,
// and a last line with their number and a checksum, by which a cut-off file is known.
void write_program(const std::string& path, const ProgramFile& file);
ProgramFile read_program(const std::string& path);  // DataError; also checks the program
std::string program_text(const ProgramFile& file);
ProgramFile parse_program(const std::string& text, const std::string& name);

}  // namespace adagp::rtl
