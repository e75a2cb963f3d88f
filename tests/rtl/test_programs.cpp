// Random programs on one configuration:
//   data    every memory's bits equal the golden model's, and every counter the cycle model's;
//   scales  the same for updates that measure gradients and move scales;
//   timing  engines overlap, batches have phases: every counter equals the cycle model's;
//   stalls  the same program with a slow outside memory: cycles lie between the cycle model and the
//           cycle model plus the stalled cycles; the other counters stay equal.
// Usage: test_programs [PROGRAMS] [SEED]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "golden.h"
#include "model.h"
#include "random_program.h"

namespace {

using namespace adagp;
using namespace adagp::rtl;

int failures = 0;

bool same(const Counts& seen, const Counts& expected, const char* what, int index) {
  bool equal = true;
#define ADAGP_RTL_COMPARE(name)                                       \
  if (seen.name != expected.name) {                                   \
    equal = false;                                                    \
    if (failures < 10)                                                \
      std::printf("%s %d: " #name " %llu, model %llu\n", what, index, \
                  static_cast<unsigned long long>(seen.name),         \
                  static_cast<unsigned long long>(expected.name));    \
  }
  ADAGP_RTL_EVENTS(ADAGP_RTL_COMPARE)
#undef ADAGP_RTL_COMPARE
  failures += !equal;
  return equal;
}

// Mostly ordinary numbers of all sizes, a few of any kind.
std::uint32_t random_word(RandomProgram& random, Format format, int bits) {
  const std::uint32_t any = random.below(0xffffffffu) ^ random.below(65536) << 16;
  if (format == Format::kFixed && bits == 32 && random.one_in(2))
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(any) >>
                                      static_cast<int>(random.below(32)));
  if (format == Format::kFixed || random.one_in(50)) return bits == 16 ? any & 0xffff : any;
  const std::uint32_t value = (any & 0x807fffffu) | (118 + random.below(16)) << 23;
  return bits == 16 ? value >> 16 : value;
}

class Test {
 public:
  Test(std::uint32_t seed)
      : machine_(built_machine()),
        random_(machine_, seed),
        model_(random_.beats()),
        golden_(machine_, random_.beats()) {
    // Both sides start from the same weights and sums in the cells.
    Program program;
    random_.transfer_all(program, false);
    for (const Op op : {Op::kTile, Op::kPtile}) {
      if (op == Op::kPtile && !machine_.has_predictor_array()) continue;
      Descriptor d = random_.start(op);
      d.n0 = d.n1 = d.n2 = 1;
      d.load_w = 1;
      program.push_back(d);
      if (op == Op::kPtile && !machine_.pred_three_modes) continue;
      d.mode = static_cast<std::uint32_t>(Mode::kDw);
      d.clear = 1;
      program.push_back(d);
    }
    program.push_back(random_.start(Op::kEnd));
    model_.run(program, {}, {});
    golden_.run(program, {});
  }

  void data(int index) {
    for (int b = 0, beat = 0; b < kBufferCount; ++b) {
      const int rows = static_cast<int>(random_.rows_of(static_cast<Buffer>(b)));
      for (int i = 0; i < rows * machine_.lanes(); ++i)
        model_.outside()[beat * machine_.lanes() + i] =
            random_word(random_, machine_.format, kBufferBits[b]);
      beat += rows;
    }
    golden_.outside() = model_.outside();
    Program program;
    random_.transfer_all(program, false);
    for (int i = 0; i < 25; ++i) program.push_back(random_.one(random_.operation()));
    random_.transfer_all(program, true);
    program.push_back(random_.start(Op::kEnd));
    const Schedule schedule;
    RunOptions options;
    if (index % 4 == 3) options.stalls = 0.3;  // stalls must not change data
    options.seed = index;
    const Counts seen = model_.run(program, schedule, options);
    if (options.stalls == 0)
      same(seen, predict(machine_, program, schedule), "data program", index);
    golden_.run(program, schedule);
    compare(index, program);
  }

  // Gradients near the scale of their layer and counts near the borders of its moves, for updates
  // that measure, in turn with others.
  void scales(int index) {
    if (!machine_.has_predictor()) return;
    constexpr std::uint32_t kFirst = 100;  // rows of P with scales, beyond those of the updates
    for (int b = 0, beat = 0; b < kBufferCount; ++b) {
      const auto buffer = static_cast<Buffer>(b);
      const int rows = static_cast<int>(random_.rows_of(buffer));
      for (int i = 0; i < rows * machine_.lanes(); ++i) {
        std::uint32_t& word = model_.outside()[beat * machine_.lanes() + i];
        const std::uint32_t power = random_.below(13), mantissa = random_.below(1 << 23);
        if (buffer == Buffer::kP)
          word = 4 + random_.below(4);
        else if (machine_.format == Format::kBf16)
          word = random_.below(2) << 31 | (114 + power) << 23 | mantissa;  // 2^-13 to 2^-1
        else
          word = ((1u << 23 | mantissa) >> (20 - power)) * (random_.one_in(2) ? 1u : ~0u);
      }
      beat += rows;
    }
    golden_.outside() = model_.outside();
    Program program;
    random_.transfer_all(program, false);
    for (int i = 0; i < 30; ++i) program.push_back(random_.update(kFirst));
    random_.transfer_all(program, true);
    program.push_back(random_.start(Op::kEnd));
    same(model_.run(program, {}, {}), predict(machine_, program, {}), "scales", index);
    golden_.run(program, {});
    compare(index, program);
  }

  void timing(int index) {
    Program program;
    const int length = 5 + static_cast<int>(random_.below(60));
    for (int i = 0; i < length; ++i) {
      Descriptor d = random_.one(random_.operation());
      d.mask = random_.below(8);
      d.wait = random_.one_in(2) ? 0 : random_.below(32);
      program.push_back(d);
    }
    program.push_back(random_.start(Op::kEnd));
    const Schedule schedule = random_schedule();
    // These programs do not keep their data apart.
    model_.clash_allowed = true;
    const Counts expected = predict(machine_, program, schedule);
    same(model_.run(program, schedule, {}), expected, "timing program", index);
    in_order(schedule, index);
    RunOptions slow;
    slow.stalls = 0.05 + 0.1 * random_.below(8);
    slow.seed = index;
    Counts stalled = model_.run(program, schedule, slow);
    if (stalled.cycles < expected.cycles || stalled.cycles > expected.cycles + stalled.dma_stalls) {
      ++failures;
      std::printf("program %d with stalls: %llu cycles, not between %llu and that + %llu\n", index,
                  static_cast<unsigned long long>(stalled.cycles),
                  static_cast<unsigned long long>(expected.cycles),
                  static_cast<unsigned long long>(stalled.dma_stalls));
    }
    stalls_ += stalled.dma_stalls;
    if (stalled.warm_cycles + stalled.bp_cycles + stalled.gp_cycles != stalled.cycles) {
      ++failures;
      std::printf("program %d with stalls: the phases' cycles are not all cycles\n", index);
    }
    for (const auto member :
         {&Counts::cycles, &Counts::warm_cycles, &Counts::bp_cycles, &Counts::gp_cycles})
      stalled.*member = expected.*member;
    stalled.busy_dma -= stalled.dma_stalls;
    stalled.dma_stalls = 0;
    same(stalled, expected, "program with stalls", index);
    model_.clash_allowed = false;
  }

  // The published schedule without the host: 90 epochs of 7 batches of a program of two tiles. The
  // numbers of batches are counted by hand: with 7 batches an epoch has 6 GP batches at 4:1 and at
  // 3:1, 5 at 2:1 and 4 at 1:1.
  void published() {
    Program program;
    for (const Phase phase : {Phase::kGp, Phase::kBp}) {
      program.push_back(random_.start(Op::kTile));
      program.back().mask = bit(phase);
      program.back().n0 = phase == Phase::kGp ? 5 : 9;
      program.back().n1 = program.back().n2 = 1;
    }
    program.push_back(random_.start(Op::kEnd));
    const Schedule schedule = schedule_of("10ep bp, 4ep 4:1, 4ep 3:1, 4ep 2:1, 1:1", 90, 7);
    const Counts seen = model_.run(program, schedule, {});
    same(seen, predict(machine_, program, schedule), "published schedule", 0);
    in_order(schedule, 0);
    const bool predicts = machine_.has_predictor();
    const std::uint64_t warm = predicts ? 70 : 0, gp = predicts ? 4 * (6 + 6 + 5) + 68 * 4 : 0;
    if (seen.warm_batches == warm && seen.gp_batches == gp && seen.bp_batches == 630 - warm - gp &&
        seen.main_rows == 5 * gp + 9 * seen.bp_batches)
      return;
    ++failures;
    std::printf("published schedule: %llu warm-up, %llu BP and %llu GP batches\n",
                static_cast<unsigned long long>(seen.warm_batches),
                static_cast<unsigned long long>(seen.bp_batches),
                static_cast<unsigned long long>(seen.gp_batches));
  }

  std::uint64_t words() const { return words_; }
  std::uint64_t stalls() const { return stalls_; }

 private:
  void compare(int index, const Program& program) {
    std::size_t beat = 0;
    bool equal = true;
    for (int b = 0; b < kBufferCount; ++b) {
      const auto buffer = static_cast<Buffer>(b);
      for (std::size_t row = 0; row < random_.rows_of(buffer); ++row, ++beat)
        for (int k = 0; k < machine_.lanes() && machine_.has(buffer); ++k) {
          const std::size_t i = beat * machine_.lanes() + k;
          ++words_;
          if (model_.outside()[i] == golden_.outside()[i]) continue;
          if (equal && failures < 10) {
            std::printf("data program %d: memory %s row %zu lane %d: %08x, golden %08x\n", index,
                        kBufferNames[b], row, k, model_.outside()[i], golden_.outside()[i]);
            if (std::getenv("ADAGP_RTL_SHOW"))
              for (const Descriptor& d : program)
                std::printf(
                    "  op %u mode %u kind %u load %u acc %u clear %u drain %u psrc %u relu %u bias "
                    "%u "
                    "n %u %u %u s %u %u %u xb %u yb %u wb %u rot %u gs %u sa %u sb %u addr %x\n",
                    d.op, d.mode, d.kind, d.load_w, d.acc_in, d.clear, d.drain, d.psrc, d.relu,
                    d.bias, d.n0, d.n1, d.n2, d.s0, d.s1, d.s2, d.xb, d.yb, d.wb, d.rot, d.gs,
                    d.shift_a, d.shift_b, d.addr);
          }
          equal = false;
        }
    }
    failures += !equal;
  }

  // Up to four stretches, a run that ends before, in or behind the last of them.
  Schedule random_schedule() {
    std::string text;
    for (std::uint32_t left = random_.below(4); left > 0; --left) {
      text += std::to_string(1 + random_.below(2)) + "ep ";
      text += random_.one_in(3) ? "bp, " : ratio() + ", ";
    }
    return schedule_of(text + (random_.one_in(4) ? "bp" : ratio()), 1 + random_.below(5),
                       1 + random_.below(4));
  }

  std::string ratio() {
    return std::to_string(random_.below(4)) + ":" + std::to_string(1 + random_.below(3));
  }

  // The phase of every batch is that of base/schedule.
  void in_order(const Schedule& schedule, int index) {
    const auto& seen = model_.phases();
    bool equal = static_cast<std::int64_t>(seen.size()) == schedule.batches();
    for (std::size_t b = 0; equal && b < seen.size(); ++b)
      equal = seen[b] == schedule.at(machine_, static_cast<std::int64_t>(b));
    if (equal) return;
    ++failures;
    std::printf("program %d: %zu batches, or their phases, are not those of the schedule '%s'\n",
                index, seen.size(), schedule.stretches.str().c_str());
  }

  Machine machine_;
  RandomProgram random_;
  Model model_;
  Golden golden_;
  std::uint64_t words_ = 0, stalls_ = 0;
};

}  // namespace

int main(int count, char** values) {
  const int programs = count > 1 ? std::atoi(values[1]) : 50;
  const auto seed = static_cast<std::uint32_t>(count > 2 ? std::atoi(values[2]) : 1);
  try {
    const Machine m = built_machine();
    Test test(seed);
    for (int i = 0; i < programs; ++i) test.data(i);
    for (int i = 0; i < programs; ++i) test.scales(i);
    test.published();
    for (int i = 0; i < programs; ++i) test.timing(i);
    std::printf(
        "%s %dx%d %s: %d data programs (%llu words), %d timing programs, each also with stalls "
        "(%llu cycles): %d wrong\n",
        kDesignNames[static_cast<int>(m.design)], m.rows, m.cols,
        kFormatNames[static_cast<int>(m.format)], programs,
        static_cast<unsigned long long>(test.words()), programs,
        static_cast<unsigned long long>(test.stalls()), failures);
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
  return failures != 0;
}
