// Programs of random networks on one configuration: all bits of the outside memory equal the golden
// model's, every counter the cycle model's, and a slow outside memory changes no bit.
// A run has an epoch of warm-up, one of GP and one of BP batches.
// Usage: test_networks [NETWORKS] [BATCHES of an epoch] [SEED]
#include <cstdio>
#include <cstdlib>
#include <random>

#include "adagp/sim/rtl/network_program.h"
#include "golden.h"
#include "model.h"

namespace {

using namespace adagp;
using namespace adagp::rtl;

class Random {
 public:
  explicit Random(std::uint32_t seed) : bits_(seed) {}
  std::int64_t from(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::uint32_t word() { return bits_(); }

 private:
  std::mt19937 bits_;
};

Network random_network(Random& random) {
  Network out{"random", random.from(1, 3), {}};
  const std::int64_t layers = random.from(1, 3);
  for (std::int64_t l = 0; l < layers; ++l) {
    LayerProduct layer;
    layer.name = "layer " + std::to_string(l);
    layer.groups = random.from(1, 4) == 1 ? 2 : 1;
    layer.height = random.from(1, 9);
    layer.width = random.from(1, 9);
    layer.m = out.batch * layer.height * layer.width;
    // Some layers have more tiles than the predictor has work beside them.
    const bool large = random.from(1, 4) == 1;
    layer.k = random.from(1, large ? 90 : 40);
    layer.n = random.from(1, large ? 60 : 20);
    // Filters of more weights than are predicted at once.
    if (random.from(1, 12) == 1) {
      layer.k = random.from(1000, 1100);
      layer.n = random.from(1, 8);
    }
    layer.input_gradient = l > 0;
    out.layers.push_back(layer);
  }
  return out;
}

// Every memory is written first, so that both sides start from the same bits.
Program with_setup(const Machine& machine, const Program& program) {
  Program out;
  for (int b = 0; b < kBufferCount; ++b) {
    const auto buffer = static_cast<Buffer>(b);
    if (!machine.has(buffer)) continue;
    Descriptor d;
    d.op = static_cast<std::uint32_t>(Op::kDma);
    d.mask = bit(Phase::kWarm);
    d.kind = static_cast<std::uint32_t>(b);
    d.n0 = (1u << machine.address_bits(buffer)) - 1;
    out.push_back(d);
  }
  out.insert(out.end(), program.begin(), program.end());
  return out;
}

bool test(std::uint32_t seed, int batches) {
  const Machine machine = built_machine();
  Random random(seed);
  const Network network = random_network(random);
  const NetworkProgram made = make_program(machine, network);
  const Program program = with_setup(machine, made.program);
  const std::size_t beats = static_cast<std::size_t>(made.outside_beats) + 65536;
  const Schedule schedule = schedule_of("1ep bp, 1ep gp, bp", 3, batches);
  Golden golden(machine, beats);
  Model model(beats);
  for (std::uint32_t& word : model.outside()) {
    // Small numbers of both formats: nothing saturates or overflows at once.
    const std::uint32_t any = random.word();
    word = machine.format == Format::kFixed ? any & 0xff : (any & 0x80ff0000u) >> 16 | 0x3c00u;
  }
  golden.outside() = model.outside();
  const Counts expected = predict(machine, program, schedule);
  const Counts seen = model.run(program, schedule, {});
  const std::vector<std::uint32_t> first = golden.outside(), written = model.outside();
  golden.run(program, schedule);
  model.outside() = first;
  RunOptions stalls;
  stalls.stalls = 0.2;
  stalls.seed = seed;
  const Counts slowed = model.run(program, schedule, stalls);
  const bool counts = seen == expected, bits = written == golden.outside(),
             same = model.outside() == golden.outside(),
             between = slowed.cycles >= expected.cycles &&
                       slowed.cycles <= expected.cycles + slowed.dma_stalls;
  if (!counts || !bits || !same || !between) {
    std::printf(
        "network %u (%zu descriptors): counters %s, bits %s, bits with stalls %s, cycles with "
        "stalls %s\n",
        seed, program.size(), counts ? "equal" : "DIFFER", bits ? "equal" : "DIFFER",
        same ? "equal" : "DIFFER", between ? "in range" : "OUT OF RANGE");
  }
  return counts && bits && same && between;
}

}  // namespace

int main(int count, char** values) {
  const int networks = count > 1 ? std::atoi(values[1]) : 20;
  const int batches = count > 2 ? std::atoi(values[2]) : 1;
  const std::uint32_t first = count > 3 ? static_cast<std::uint32_t>(std::atoi(values[3])) : 1;
  int failures = 0;
  for (int i = 0; i < networks; ++i)
    failures += !test(first + static_cast<std::uint32_t>(i), batches);
  std::printf("%s: %d of %d networks equal\n",
              kDesignNames[static_cast<int>(built_machine().design)], networks - failures,
              networks);
  return failures == 0 ? 0 : 1;
}
