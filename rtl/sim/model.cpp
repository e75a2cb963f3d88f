#include "model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "Vadagp_top.h"
#include "adagp/base/core/error.h"
#include "arithmetic.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#else
class VerilatedVcdC {};
#endif

extern "C" unsigned int adagp_mac_bf16(unsigned int ab, unsigned int c) {
  return adagp::rtl::mac_bf16(static_cast<std::uint16_t>(ab >> 16), static_cast<std::uint16_t>(ab),
                              c);
}

extern "C" unsigned int adagp_add_float(unsigned int a, unsigned int b) {
  return adagp::rtl::float_add(a, b);
}

namespace adagp::rtl {
namespace {

// A port has 32, 64 or more bits, each with its own type.
[[maybe_unused]] void put(IData& port, const std::uint32_t* words) {
  port = words[0];
}
[[maybe_unused]] void put(QData& port, const std::uint32_t* words) {
  port = static_cast<QData>(words[1]) << 32 | words[0];
}
template <std::size_t N>
void put(VlWide<N>& port, const std::uint32_t* words) {
  std::copy_n(words, N, &port[0]);
}
[[maybe_unused]] void take(const IData& port, std::uint32_t* words) {
  words[0] = port;
}
[[maybe_unused]] void take(const QData& port, std::uint32_t* words) {
  words[0] = static_cast<std::uint32_t>(port);
  words[1] = static_cast<std::uint32_t>(port >> 32);
}
template <std::size_t N>
void take(const VlWide<N>& port, std::uint32_t* words) {
  std::copy_n(&port[0], N, words);
}

}  // namespace

Machine built_machine() {
  Machine m;
  m.design = static_cast<Design>(ADAGP_DESIGN);
  m.format = static_cast<Format>(ADAGP_FORMAT);
  m.rows = ADAGP_ROWS;
  m.cols = ADAGP_COLS;
  m.pred_rows = ADAGP_PROWS;
  m.pred_cols = ADAGP_PCOLS;
  m.pred_three_modes = ADAGP_PMODES;
  m.x_bits = ADAGP_LX;
  m.y_bits = ADAGP_LY;
  m.w_bits = ADAGP_LW;
  m.predictor_bits = ADAGP_LP;
  m.descriptor_bits = ADAGP_LD;
  return m;
}

Model::Model(std::size_t beats, const std::string& vcd)
    : context_(std::make_unique<VerilatedContext>()),
      lanes_(static_cast<std::size_t>(built_machine().lanes())),
      outside_(beats * lanes_) {
#if VM_TRACE
  if (!vcd.empty()) {
    context_->traceEverOn(true);
    trace_ = std::make_unique<VerilatedVcdC>();
  }
#else
  if (!vcd.empty())
    throw UsageError("rtl: this model was built without waveforms; build it with --trace");
#endif
  top_ = std::make_unique<Vadagp_top>(context_.get());
#if VM_TRACE
  if (trace_) {
    top_->trace(trace_.get(), 99);
    trace_->open(vcd.c_str());
    if (!trace_->isOpen()) throw Error("rtl: cannot write the waveform " + vcd);
  }
#endif
  top_->rst = 1;
  for (int i = 0; i < 3; ++i) cycle();
  top_->rst = 0;
  cycle();
}

Model::~Model() {
#if VM_TRACE
  if (trace_) trace_->close();
#endif
  top_->final();
}

// Requests are accepted and beats move when the drawn number says so.
void Model::serve_memory() {
  const bool ready = stall_below_ == 0 || random_() >= stall_below_;
  top_->request_ready = ready;
  top_->load_valid = ready && left_ > 0 && !storing_;
  top_->store_ready = ready && left_ > 0 && storing_;
  if (top_->load_valid) put(top_->load_data, &outside_[beat_ * lanes_]);
}

void Model::cycle() {
  serve_memory();
  top_->clk = 0;
  top_->eval();
#if VM_TRACE
  if (trace_) trace_->dump(context_->time());
#endif
  context_->timeInc(1);
  const bool moves =
      (top_->load_valid && top_->load_ready) || (top_->store_ready && top_->store_valid);
  if (moves && storing_) take(top_->store_data, &outside_[beat_ * lanes_]);
  const bool requested = top_->request_valid && top_->request_ready;
  const std::uint64_t addr = top_->request_addr, beats = top_->request_beats;
  const bool store = top_->request_store;
  top_->clk = 1;
  top_->eval();
#if VM_TRACE
  if (trace_) trace_->dump(context_->time());
#endif
  context_->timeInc(1);
  if (moves) {
    ++beat_;
    --left_;
  }
  if (requested) {
    if ((addr + beats) * lanes_ > outside_.size())
      throw DataError("rtl: a transfer to beat " + std::to_string(addr + beats) +
                      ": the outside memory has " + std::to_string(outside_.size() / lanes_));
    beat_ = addr;
    left_ = beats;
    storing_ = store;
  }
}

Counts Model::counts() const {
  std::vector<std::uint32_t> words((kEventCount * kCounterBits + 31) / 32 + 2);
  take(top_->counts, words.data());
  Counts c;
  int first = 0;
  const auto next = [&] {
    const std::uint64_t low = words[first / 32] | static_cast<std::uint64_t>(words[first / 32 + 1])
                                                      << 32;
    std::uint64_t value = low >> (first % 32);
    if (first % 32) value |= static_cast<std::uint64_t>(words[first / 32 + 2]) << (64 - first % 32);
    first += kCounterBits;
    return value & ((std::uint64_t{1} << kCounterBits) - 1);
  };
#define ADAGP_RTL_NEXT(name) c.name = next();
  ADAGP_RTL_EVENTS(ADAGP_RTL_NEXT)
#undef ADAGP_RTL_NEXT
  return c;
}

std::string Model::state() const {
  static constexpr const char* kStates[] = {"stopped", "fetch", "decode", "issue", "next", "error"};
  std::string out = "sequencer in state '" +
                    std::string(kStates[std::min<int>(top_->seq_state, 5)]) + "' at descriptor " +
                    std::to_string(top_->seq_pc) + ", busy:";
  for (int e = 0; e < kEngineCount; ++e)
    if (!(top_->seq_idle >> e & 1)) out += std::string(" ") + kEngineNames[e];
  return out + (top_->seq_idle == 31 ? " nothing" : "") + ", cycle " +
         std::to_string(counts().cycles);
}

void Model::note_activity(std::uint64_t cycle, std::uint64_t every) {
  if (cycle % every == 0) activity_.emplace_back();
  for (int e = 0; e < kEngineCount; ++e) activity_.back().busy[e] += !(top_->seq_idle >> e & 1);
  for (int p = 0; p < kPhaseCount; ++p) activity_.back().phases[p] += top_->seq_phase >> p & 1;
}

Counts Model::run(const Program& program, const Schedule& schedule, const RunOptions& options) {
  if (!(options.stalls >= 0 && options.stalls <= 0.99))
    throw UsageError("rtl: a stall probability must be 0 to 0.99");
  schedule.check();
  check(built_machine(), program);
  random_.seed(options.seed);
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Words words = encode(program[i]);
    top_->program_we = 1;
    top_->program_wa = static_cast<std::uint32_t>(i);
    put(top_->program_wd, words.data());
    cycle();
  }
  top_->program_we = 0;
  std::uint8_t row = 0;
  for (const Stretch& stretch : schedule.table()) {
    top_->stretch_we = 1;
    top_->stretch_wa = row++;
    top_->stretch_wd = encode(stretch);
    cycle();
  }
  top_->stretch_we = 0;
  top_->n_batches = static_cast<std::uint32_t>(schedule.batches());
  top_->epoch_batches = static_cast<std::uint32_t>(schedule.epoch_batches);
  phases_.clear();
  top_->start = 1;
  cycle();
  top_->start = 0;
  stall_below_ = static_cast<std::uint32_t>(options.stalls * 4294967295.0);
  const Counts expected = predict(built_machine(), program, schedule);
  const double stretch = 4 / (1 - options.stalls);
  const auto limit =
      static_cast<std::uint64_t>(static_cast<double>(expected.cycles) * stretch) + options.slack;
  std::uint64_t cycles = 0;
  activity_.clear();
  while (top_->running && ++cycles < limit) {
    if (options.every) note_activity(cycles - 1, options.every);
    cycle();
    if (top_->batch_done) phases_.push_back(static_cast<Phase>(std::countr_zero(top_->seq_phase)));
  }
  stall_below_ = 0;
  if (top_->error) throw Error("rtl: the machine stopped: " + state());
  if (top_->running)
    throw Error("rtl: the watchdog stopped the machine after " + std::to_string(cycles) +
                " cycles (expected " + std::to_string(expected.cycles) + "): " + state());
  if (top_->clash && !clash_allowed)
    throw Error("rtl: two units used one port of a memory in the same cycle; " + state());
  return counts();
}

}  // namespace adagp::rtl
