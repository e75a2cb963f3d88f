// The program file: what was written is read, and nothing else is.
#include <gtest/gtest.h>

#include <functional>

#include "adagp/base/core/error.h"
#include "adagp/sim/rtl/descriptor.h"

namespace adagp::rtl {
namespace {

Descriptor descriptor_of(Op op) {
  Descriptor d;
  d.op = static_cast<std::uint32_t>(op);
  d.mask = kEveryPhase;
  return d;
}

ProgramFile example(Design design) {
  ProgramFile file;
  file.machine.design = design;
  Descriptor tile = descriptor_of(Op::kTile);
  tile.n0 = 3;
  tile.n1 = 2;
  tile.n2 = 1;
  tile.s0 = 1;
  tile.s1 = 5;
  tile.load_w = 1;
  tile.wb = 40;
  file.program = {tile, descriptor_of(Op::kEnd)};
  return file;
}

void expect_error(const std::function<void()>& call, int exit_code, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "no error that says: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_code(), exit_code) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Descriptor, EveryFieldKeepsItsLargestValue) {
#define ADAGP_RTL_TRY(name, first, bits)                                         \
  {                                                                              \
    Descriptor d;                                                                \
    d.name = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);         \
    EXPECT_EQ(decode(encode(d)), d) << #name;                                    \
    int ones = 0;                                                                \
    for (const std::uint32_t word : encode(d)) ones += __builtin_popcount(word); \
    EXPECT_EQ(ones, bits) << #name;                                              \
  }
  ADAGP_RTL_FIELDS(ADAGP_RTL_TRY)
#undef ADAGP_RTL_TRY
  Descriptor wide;
  wide.op = 16;
  expect_error([&] { encode(wide); }, 2, "field op = 16");
}

TEST(ProgramFile, ReadsWhatItWrote) {
  for (const Design design : {Design::kBaseline, Design::kMax}) {
    const ProgramFile file = example(design), again = parse_program(program_text(file), "x");
    EXPECT_EQ(again.program, file.program);
    EXPECT_EQ(again.machine.design, design);
    EXPECT_EQ(again.machine.cols, 15);
    EXPECT_EQ(program_text(again), program_text(file));
  }
}

// The end of line behind the checksum may be missing; every shorter file is cut off.
TEST(ProgramFile, RefusesEveryCutOffFile) {
  const std::string text = program_text(example(Design::kLow));
  for (std::size_t size = 0; size + 1 < text.size(); ++size)
    EXPECT_THROW(parse_program(text.substr(0, size), "x"), Error) << size;
}

TEST(ProgramFile, RefusesEveryChangedDescriptor) {
  const std::string text = program_text(example(Design::kLow));
  const std::size_t first = text.find("descriptors 2\n") + 14;
  for (std::size_t i = first; i < first + 64; ++i) {
    std::string other = text;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_THROW(parse_program(other, "x"), DataError) << i;
  }
}

TEST(ProgramFile, SaysWhatIsWrong) {
  const std::string text = program_text(example(Design::kLow));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return [other] { parse_program(other, "p.hex"); };
  };
  expect_error(with("array 12x15", "array 0x15"), 3, "p.hex: an array of 0x15");
  expect_error(with("array 12x15", "array 12"), 3, "ROWSxCOLS");
  expect_error(with("design low", "design lower"), 3, "p.hex: no design 'lower'");
  expect_error(with("descriptors 2", "descriptors 4000000000"), 3, "at most 4194304");
  expect_error(with("descriptors 2", "descriptors 3"), 3, "expected 64 hex digits");
  expect_error(with("adagp-rtl", "other-rtl"), 3, "line 1");
  expect_error(with("epochs 1", "epochs 0"), 3, "p.hex: a schedule of 0 epochs");
  expect_error(with("schedule 1:1", "schedule 0:0"), 3, "p.hex: schedule: '0:0'");
  expect_error(with("schedule 1:1", "schedule 300:1"), 3, "p.hex: a ratio of 300:1");
  expect_error([] { read_program("/nonexistent/p.hex"); }, 3, "p.hex");
}

TEST(ProgramCheck, NamesTheDescriptorAndTheLimit) {
  const auto fails = [](const std::function<void(ProgramFile&)>& change, const std::string& part,
                        Design design = Design::kLow) {
    ProgramFile file = example(design);
    change(file);
    expect_error([&] { check(file.machine, file.program); }, 3, part);
  };
  fails([](ProgramFile& f) { f.program[0].op = 9; }, "descriptor 0: operation 9 is unknown");
  fails([](ProgramFile& f) { f.program[0].n1 = 0; }, "a loop of 0 rows");
  fails([](ProgramFile& f) { f.program[0].xb = 4090; },
        "row 4097 of memory x, which has 4096 rows");
  fails([](ProgramFile& f) { f.program[0].yb = 4091; }, "row 4096 of memory y");
  fails([](ProgramFile& f) { f.program[0].wb = 4082; }, "row 4096 of memory w");
  fails([](ProgramFile& f) { f.program[0].mode = 3; }, "mode 3 is unknown");
  fails([](ProgramFile& f) { f.program[0].drain = 1; }, "drain and clear belong to mode dw");
  fails([](ProgramFile& f) { f.program[0].psrc = 1; }, "psrc needs design efficient");
  fails([](ProgramFile& f) { f.program[0].op = static_cast<int>(Op::kPtile); },
        "ptile needs design max");
  fails(
      [](ProgramFile& f) { f.program[0].op = static_cast<int>(Op::kPtile), f.program[0].mode = 2; },
      "know `forward` alone", Design::kMax);
  const auto update = [](ProgramFile& f) -> Descriptor& {
    f.program[0] = descriptor_of(Op::kVec);
    f.program[0].kind = static_cast<std::uint32_t>(VecKind::kSgd);
    f.program[0].n0 = f.program[0].n1 = f.program[0].n2 = f.program[0].bias = 1;
    return f.program[0];
  };
  fails([&](ProgramFile& f) { update(f).wb = 4096; }, "row 4096 of memory p");
  fails([&](ProgramFile& f) { update(f).drain = 1; }, "a scale of 0 gradients");
  fails(
      [&](ProgramFile& f) {
        Descriptor& d = update(f);
        d.drain = d.psrc = d.addr = 1;
      },
      "drain and clear belong");
  fails([&](ProgramFile& f) { update(f).psrc = 1, f.program[0].bias = 0; },
        "psrc belongs to gradient, and to sgd");
  const auto of_kind = [&](ProgramFile& f, VecKind kind) -> Descriptor& {
    Descriptor& d = update(f);
    d.kind = static_cast<std::uint32_t>(kind);
    return d;
  };
  fails([&](ProgramFile& f) { of_kind(f, VecKind::kError).addr = 13; }, "error of 13 of 12 lanes");
  fails([&](ProgramFile& f) { of_kind(f, VecKind::kError).s3 = 4096; }, "row 4096 of memory g");
  fails([&](ProgramFile& f) { of_kind(f, VecKind::kError); }, "a predictor that learns",
        Design::kMax);
  fails([&](ProgramFile& f) { of_kind(f, VecKind::kGradient).psrc = 1, f.program[0].bias = 0; },
        "a predictor array that learns", Design::kMax);
  fails(
      [&](ProgramFile& f) {
        f.machine.pred_three_modes = true;
        of_kind(f, VecKind::kError).s3 = 4096;
      },
      "of memory pg, which has 4096 rows", Design::kMax);
  fails([&](ProgramFile& f) { update(f); }, "needs a design with a predictor", Design::kBaseline);
  const auto pool = [](ProgramFile& f) -> Descriptor& {
    f.program[0] = descriptor_of(Op::kReorg);
    f.program[0].kind = static_cast<std::uint32_t>(ReorgKind::kPyToPw);
    f.program[0].n0 = f.program[0].n1 = f.program[0].n2 = 1;
    f.program[0].addr = 1 | 1 << 16;
    return f.program[0];
  };
  fails([&](ProgramFile& f) { pool(f); }, "this design has no memory py");
  fails([&](ProgramFile& f) { pool(f).psrc = 1; }, "psrc belongs to y_to_w", Design::kMax);
  fails([](ProgramFile& f) { f.program.pop_back(); }, "the last descriptor must be `end`");
  fails([](ProgramFile& f) { f.program[1].mask = 3; }, "the last descriptor must be `end`");
  fails([](ProgramFile& f) { f.program.resize(5000, f.program[1]); }, "program memory has 4096");
  fails(
      [](ProgramFile& f) {
        f.program[0] = descriptor_of(Op::kDma), f.program[0].kind = 8, f.program[0].n0 = 1;
      },
      "this design has no memory px");
}

}  // namespace
}  // namespace adagp::rtl
