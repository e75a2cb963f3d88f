// Training on one configuration: two convolutions, a linear layer, ReLU, batch 4. After every step
// the machine's outside memory equals the golden model's bit by bit, the weights equal those of
// plain loops without tiles, the counters equal the cycle model, and over the steps the loss falls.
// Usage: test_training [STEPS] [SEED]
//        test_training --write FOLDER   program.hex, and the outside memory before.bin and
//        after.bin
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "arithmetic.h"
#include "direct_net.h"
#include "golden.h"
#include "model.h"

namespace {

using namespace adagp;
using namespace adagp::rtl;

std::uint32_t as_sum(Format f, double value) {
  if (f == Format::kFixed) return static_cast<std::uint32_t>(std::lround(value * 65536));
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

std::uint32_t as_data(Format f, double value) {
  return narrowed(f, as_sum(f, value), f == Format::kFixed ? 8 : 0);
}

double as_number(Format f, std::uint16_t data) {
  return f == Format::kFixed ? static_cast<std::int16_t>(data) / 256.0
                             : std::bit_cast<float>(static_cast<std::uint32_t>(data) << 16);
}

SmallNet small_net(const Machine& m) {
  return {m, 4, {{3, 6, 3, 1, 6}, {6, 5, 3, 0, 6}, {5, 4, 4, 0, 4}}};
}

// Images, targets, weights and the predictor's weights, at their places outside.
void fill(const SmallNet& net, std::vector<std::uint32_t>& outside, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const Machine& m = net.machine();
  const Format f = m.format;
  const auto word = [&](int beat, int lane) -> std::uint32_t& {
    return outside[static_cast<std::size_t>(beat) * m.lanes() + lane];
  };
  const LayerSize& s = net.size(0);
  const LayerPlace& p = net.place(0);
  for (int b = 0; b < net.batch_size(); ++b)
    for (int c = 0; c < s.in_channels; ++c)
      for (int y = 0; y < s.in_size; ++y)
        for (int x = 0; x < s.in_size; ++x)
          word(net.image_at + c / m.cols * p.group_rows + (b * p.padded + y + s.pad) * p.padded +
                   x + s.pad,
               c % m.cols) = as_data(f, normal(random));
  const int last = net.layers() - 1;
  for (int b = 0; b < net.batch_size(); ++b)
    for (int n = 0; n < net.size(last).out_channels; ++n)
      word(net.target_at + n / m.rows * net.place(last).m + b, n % m.rows) =
          as_sum(f, n == b ? -1.0 : 0.5);
  const DirectNet places(net);
  for (int l = 0; l < net.layers(); ++l) {
    const double spread =
        1 / std::sqrt(net.size(l).in_channels * net.size(l).kernel * net.size(l).kernel);
    for (std::size_t i = 0; i < places.weights[l].p.size(); ++i) {
      const auto [row, lane] = places.place_of(l, i);
      word(net.weights_at + row, lane) = as_sum(f, spread * normal(random));
    }
  }
  for (int row = 0; row < net.feature_rows(); ++row)
    for (int k = 0; k < net.pred_cols(); ++k)
      word(net.hidden_at + row, k) = as_data(f, normal(random));
  for (int row = 0; row < net.final_rows; ++row)
    for (int k = 0; k < net.pred_cols(); ++k)
      word(net.final_at + row, k) = as_data(f, 0.03 * normal(random));
}

int compare(const SmallNet& net, const DirectNet& direct,
            const std::vector<std::uint32_t>& outside) {
  int wrong = 0;
  const int lanes = net.machine().lanes();
  for (int l = 0; l < net.layers(); ++l)
    for (std::size_t i = 0; i < direct.weights[l].p.size(); ++i) {
      const auto [row, lane] = direct.place_of(l, i);
      const auto seen = [&, row = row, lane = lane](int part) {
        return outside[static_cast<std::size_t>(net.result_at + part * net.weight_rows + row) *
                           lanes +
                       lane];
      };
      const DirectNet::Weights& w = direct.weights[l];
      // A bias has no 16-bit copy that matters.
      const bool is_bias = i >= w.p.size() - net.size(l).out_channels;
      wrong += seen(0) != w.p[i] || seen(1) != w.v[i] || (!is_bias && seen(2) != w.w[i]);
    }
  return wrong;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw Error("training: " + what);
}

void run(int steps, std::uint32_t seed) {
  const Machine m = built_machine();
  const SmallNet net = small_net(m);
  Model model(net.beats);
  Golden golden(m, net.beats);
  fill(net, model.outside(), seed);
  golden.outside() = model.outside();
  DirectNet direct(net);
  direct.load(model.outside());
  model.run(net.setup(), {}, {});
  golden.run(net.setup(), {});

  const Program in_turn = net.batch(false), program = net.batch(true);
  double first = 0, loss = 0, seconds = 0, cycles = 0;
  std::uint64_t gp_cycles = 0, bp_cycles = 0;
  for (int step = 0; step < steps; ++step) {
    const bool predicted = m.has_predictor() && step % 5 == 4;
    const Schedule schedule = one_batch(step == 0   ? Phase::kWarm
                                        : predicted ? Phase::kGp
                                                    : Phase::kBp);
    const std::string name =
        std::string("step ") + std::to_string(step) + (predicted ? " (GP)" : " (BP)");
    const std::clock_t begin = std::clock();
    const Counts seen = model.run(program, schedule, {});
    seconds += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    cycles += static_cast<double>(seen.cycles);
    require(seen == predict(m, program, schedule), name + ": counters differ from the cycle model");
    (predicted ? gp_cycles : bp_cycles) = seen.cycles;
    golden.run(program, schedule);
    require(model.outside() == golden.outside(), name + ": memory differs from the golden model");
    direct.step(schedule.at(m, 0));
    const int wrong = compare(net, direct, model.outside());
    require(wrong == 0, name + ": " + std::to_string(wrong) + " weights differ from plain loops");
    loss = 0;
    for (const std::uint16_t r : direct.residual) loss += 0.5 * std::pow(as_number(m.format, r), 2);
    if (step == 0) first = loss;
  }
  require(loss < 0.5 * first,
          "loss " + std::to_string(first) + " only fell to " + std::to_string(loss));
  std::printf("training %s %dx%d %s: %d steps, loss %.4f -> %.4f, BP batch %llu cycles",
              kDesignNames[static_cast<int>(m.design)], m.rows, m.cols,
              kFormatNames[static_cast<int>(m.format)], steps, first, loss,
              static_cast<unsigned long long>(bp_cycles));
  if (m.has_predictor()) std::printf(", GP batch %llu", static_cast<unsigned long long>(gp_cycles));
  if (m.has_predictor_array()) {
    const std::uint64_t slow = predict_batch(m, in_turn, Phase::kGp).cycles;
    require(gp_cycles < slow, "the predictor array does not work beside the main array");
    std::printf(" (without overlap %llu)", static_cast<unsigned long long>(slow));
  }
  std::printf(", %.2f M cycles per CPU second\n", cycles / seconds / 1e6);
}

// What the command line of the model reads: two programs, and the outside memory before the first.
void write(const std::string& folder) {
  const Machine m = built_machine();
  const SmallNet net = small_net(m);
  std::vector<std::uint32_t> outside(static_cast<std::size_t>(net.beats) * m.lanes());
  fill(net, outside, 1);
  // One program, so that the machine's memories keep what the set-up wrote.
  Program program = net.setup();
  program.pop_back();
  for (Descriptor& d : program) d.mask = bit(m.has_predictor() ? Phase::kWarm : Phase::kBp);
  const Program batch = net.batch(true);
  program.insert(program.end(), batch.begin(), batch.end());
  const Schedule schedule =
      schedule_of("1ep bp, 1ep gp, 1ep bp, 1ep gp, 1ep bp, 1ep gp", m.has_predictor() ? 6 : 1, 1);
  write_program(folder + "/program.hex", {m, schedule, program});
  const auto save = [&](const char* name, const std::vector<std::uint32_t>& words) {
    core::write_file(folder + name,
                     {reinterpret_cast<const char*>(words.data()), words.size() * 4});
  };
  save("/before.bin", outside);
  Golden golden(m, net.beats);
  golden.outside() = outside;
  golden.run(program, schedule);
  save("/after.bin", golden.outside());
}

}  // namespace

int main(int count, char** values) {
  try {
    if (count == 3 && std::string(values[1]) == "--write") {
      write(values[2]);
      return 0;
    }
    run(count > 1 ? std::atoi(values[1]) : 50,
        static_cast<std::uint32_t>(count > 2 ? std::atoi(values[2]) : 1));
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
