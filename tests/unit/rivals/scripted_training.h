#pragma once
// A made-up training run for the controller: every batch takes a known time and a known share of
// the loss that is left, and the held-out loss is read with noise of a fixed seed.

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "adagp/rivals/method/controller.h"

namespace adagp::method {

struct CheapStep {
  double seconds = 0.5;  // of a batch; an exact one takes 1
  // Progress of the first, second, ... cheap batch in a row, in units of an exact batch's; the last
  // goes on.
  std::vector<double> gains;
};

struct ScriptedTraining {
  std::vector<CheapStep> steps;
  double noise = 0;     // standard deviation of a reading of the held-out loss
  double falls = 5e-4;  // share of the loss above the floor that an exact batch takes
  std::mt19937 random;
  bool shared = true;  // the reading after a window serves for the next measured one
  double loss = 2.3, floor = 0.3;
  double seconds = 0;  // of the batches
  int64_t batches = 0, readings = 0, windows = 0, measured = 0;

  explicit ScriptedTraining(std::vector<CheapStep> the_steps = {}, double the_noise = 0,
                            double the_falls = 5e-4, unsigned seed = 1)
      : steps(std::move(the_steps)), noise(the_noise), falls(the_falls), random(seed) {}

  double read() {
    ++readings;
    if (noise == 0) return loss;
    return loss + std::normal_distribution<double>(0, noise)(random);
  }

  void batch(const Window& window, int64_t place) {
    double gain = 1, took = 1;
    if (is_cheap(window, place)) {
      const CheapStep& step = steps[static_cast<size_t>(window.step)];
      const auto in_row = static_cast<size_t>(place % (window.k + 1));
      gain = step.gains[std::min(in_row, step.gains.size() - 1)];
      took = step.seconds;
    }
    loss -= falls * gain * (loss - floor);
    seconds += took;
    ++batches;
  }

  // Plays the controller's next window.
  std::vector<Decision> next(Controller& controller) {
    const Window window = controller.window();
    double before = 0, after = 0;
    if (window.measured) before = shared && last_read_ ? last_ : read();
    const double start = seconds;
    for (int64_t i = 0; i < window.batches; ++i) batch(window, i);
    if (window.measured) after = last_ = read();
    last_read_ = window.measured;
    ++windows;
    measured += window.measured;
    return controller.finish(seconds - start, before, after);
  }

  // Until `until` batches of the run. All decisions.
  std::vector<Decision> run(Controller& controller, int64_t until) {
    std::vector<Decision> all;
    while (batches < until) {
      const auto some = next(controller);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

 private:
  bool last_read_ = false;
  double last_ = 0;
};

// A noisy run of steps drawn at random, some good, some bad, that change their worth midway.
struct RandomRun {
  ControllerOptions options;
  ScriptedTraining training;

  explicit RandomRun(unsigned seed) {
    std::mt19937 random(seed);
    const auto draw = [&](double from, double to) {
      return std::uniform_real_distribution<double>(from, to)(random);
    };
    const int steps = 1 + static_cast<int>(seed % 4);
    for (int i = 0; i < steps; ++i) {
      options.steps.push_back("step" + std::to_string(i));
      training.steps.push_back({draw(0.2, 1), {draw(-0.2, 1.5), draw(-0.2, 1)}});
    }
    options.window = 5 + static_cast<int64_t>(seed % 17);
    options.pairs = 3 + static_cast<int64_t>(seed % 5);
    options.probe_share = draw(0.02, 0.5);
    training.noise = draw(0, 0.01);
    training.random.seed(seed);
  }
  void turn() {
    for (CheapStep& step : training.steps) step.gains = {1 - step.gains[0]};
  }
};

inline bool changes(const Decision& d) {
  return d.what != "keep" && d.what != "reject";
}

}  // namespace adagp::method
