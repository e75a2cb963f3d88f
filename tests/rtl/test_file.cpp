// A program file on one configuration, batch by batch: after each, all bits of the outside memory
// equal the golden model's, and every counter the cycle model's. The outside memory begins with
// small random numbers; what the predictor and the layers learn goes from batch to batch.
// Usage: test_file PROGRAM.hex [SEED]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "adagp/base/core/error.h"
#include "golden.h"
#include "model.h"

namespace {

using namespace adagp;
using namespace adagp::rtl;

std::size_t beats_of(const Program& program) {
  std::size_t most = 1;
  for (const Descriptor& d : program)
    if (static_cast<Op>(d.op) == Op::kDma)
      most = std::max<std::size_t>(most, std::size_t{d.addr} + d.n0);
  return most;
}

// Numbers of 2^-7 to 2^-1 in both halves of a word, or of 8 bits.
std::uint32_t small_word(Format format, std::mt19937& random) {
  const std::uint32_t any = random();
  if (format == Format::kFixed) return any & 0xff;
  return (any & 0x807f0000u) >> 16 | (120 + any % 7) << 7;
}

int run(const char* path, std::uint32_t seed) {
  const ProgramFile file = read_program(path);
  if (program_text({built_machine(), {}, {}}) != program_text({file.machine, {}, {}}))
    throw DataError(std::string("rtl: ") + path + " is for another machine than this model");
  const std::size_t beats = beats_of(file.program);
  Model model(beats);
  Golden golden(file.machine, beats);
  std::mt19937 random(seed);
  for (std::uint32_t& word : model.outside()) word = small_word(file.machine.format, random);
  golden.outside() = model.outside();
  std::uint64_t cycles = 0;
  for (std::int64_t batch = 0; batch < file.schedule.batches(); ++batch) {
    const Phase phase = file.schedule.at(file.machine, batch);
    const std::vector<std::uint32_t> before = golden.outside();
    const Counts seen = model.run(file.program, one_batch(phase), {});
    golden.run_batch(file.program, phase);
    std::size_t wrong = 0, moved = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      wrong += model.outside()[i] != golden.outside()[i];
      moved += before[i] != golden.outside()[i];
    }
    const bool counts = seen == predict(file.machine, file.program, one_batch(phase));
    cycles += seen.cycles;
    std::printf("batch %lld (%s): %llu cycles, %zu words changed, %zu differ, counters %s\n",
                static_cast<long long>(batch), kPhaseNames[static_cast<int>(phase)],
                static_cast<unsigned long long>(seen.cycles), moved, wrong,
                counts ? "equal" : "DIFFER");
    std::fflush(stdout);
    // Random numbers may grow until nothing moves any more; the first batch moves weights.
    if (wrong != 0 || !counts || (batch == 0 && moved == 0)) return 1;
  }
  std::printf("%lld batches equal, %llu cycles\n", static_cast<long long>(file.schedule.batches()),
              static_cast<unsigned long long>(cycles));
  return 0;
}

}  // namespace

int main(int count, char** values) {
  try {
    if (count < 2) throw UsageError("usage: test_file PROGRAM.hex [SEED]");
    return run(values[1], count > 2 ? static_cast<std::uint32_t>(std::atoi(values[2])) : 1);
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return e.exit_code();
  }
}
