// What the predictor learns on the machine, against the same formulas in double precision. Every
// batch starts from the machine's own numbers and must end within the rounding errors of its
// format.
#include <gtest/gtest.h>

#include "adagp/sim/rtl/layer_program.h"
#include "adagp/sim/rtl/predictor_step.h"
#include "predictor_example.h"

namespace adagp::rtl {
namespace {

using Words = std::vector<std::uint32_t>;

struct Value {
  double value = 0, bound = 0;  // of the machine's distance from it
};

Value times(Value v, double factor) {
  return {v.value * factor, v.bound * std::fabs(factor)};
}
// Rounded to bfloat16.
Value narrow_of(Value v) {
  return {v.value, v.bound + kHalfUnit * (std::fabs(v.value) + v.bound)};
}

// A sum in float32: each addition is off by at most 2^-24 of what is added up.
class Sum {
 public:
  void add(Value a, Value b = {1, 0}) {
    const double value = a.value * b.value, error = std::fabs(a.value) * b.bound +
                                                    std::fabs(b.value) * a.bound +
                                                    a.bound * b.bound;
    value_ += value;
    bound_ += error;
    sizes_ += std::fabs(value) + error;
    ++count_;
  }
  Value done() const { return {value_, bound_ + sizes_ * std::ldexp(count_, -24)}; }

 private:
  double value_ = 0, bound_ = 0, sizes_ = 0;
  int count_ = 0;
};

class Learning : public Example {
 public:
  explicit Learning(Design design)
      : Example(design),
        at_(machine, network, places_),
        layer_(machine, at_, network, 0, places_),
        step_(machine, at_, places_),
        golden_(machine, static_cast<std::size_t>(made.outside_beats)) {
    fill(golden_);
    for (std::int64_t beat = step_.filters.precise; beat < step_.selections; ++beat) clear(beat);
    for (int f = 0; f < 16; ++f)
      for (int t = 0; t < 10; ++t)
        word(golden_, filter_beat(step_.filters.precise, f, t), t % machine.rows) =
            sum_of(t < 9 ? filter[f * 9 + t] : filter_bias[f]);
    for (int j = 0; j < kWeights; ++j)
      for (int i = 0; i < 257; ++i)
        word(golden_, dense_beat(step_.dense.precise, j, i), i % machine.cols % machine.rows) =
            word(golden_, at_.dense.beat(i / machine.cols, j), i % machine.cols) << 16;
    for (int column = 0; column < 8; ++column)
      for (int t = 0; t < 3 * machine.cols; ++t)
        for (int lane = 0; lane < machine.lanes(); ++lane) {
          const int i = t / machine.cols * machine.rows + lane;
          word(golden_, step_.selections + column * 3 * machine.cols + t, lane) =
              data_of(lane < machine.rows && input(i, column) == t % machine.cols ? 1 : 0);
        }
    // Gradients as small as the scale below expects.
    const std::int64_t gradients = transfer(Buffer::kG, kExactPhases, false, 0).addr;
    for (std::int64_t beat = gradients; beat < gradients + 2 * kBatch * kImage * kImage; ++beat)
      for (int lane = 0; lane < machine.lanes(); ++lane)
        word(golden_, beat, lane) = data_of(normal(random) / 256);
    scale_ = transfer(Buffer::kP, kExactPhases, true, 1).addr;
    for (int lane = 0; lane < machine.lanes(); ++lane) word(golden_, scale_, lane) = 3;
    velocities_ = transfer(Buffer::kV, kExactPhases, true, 30).addr;
    cells_ = transfer(Buffer::kW, kExactPhases, true, narrow(at_.cell_rows)).addr;
    start_ = golden_.outside();
  }

  // A warm-up batch; the layer itself begins anew, so that its gradient is the same in each.
  void batch() {
    const std::int64_t weights = velocities_ - 2 * kRows;
    for (std::int64_t i = weights * machine.lanes(); i < velocities_ * machine.lanes(); ++i)
      golden_.outside()[i] = start_[i];
    for (std::int64_t beat = velocities_; beat < velocities_ + kRows; ++beat) clear(beat);
    old_ = golden_.outside();
    golden_.run_batch(made.program, Phase::kWarm);
    now_ = golden_.outside();
  }

  // Holds what the batch did to the predictor against the formulas; returns its loss, the sum of
  // the squared errors.
  double compare();

 private:
  static constexpr std::int64_t kRows = 60;  // of W: two tiles of outputs, two of inputs

  // Of the matrix' input i at this column of the map: which of a filter's 9 weights, 9 for the
  // bias, or -1.
  static int input(int i, int column) {
    if (i >= 27) return -1;
    if (i % 9 == 8) return i == 17 ? 9 : -1;
    const int dx = i % 9 - column + 1;
    return dx >= 0 && dx < 3 ? i / 9 * 3 + dx : -1;
  }
  std::int64_t filter_beat(std::int64_t base, int f, int t) const {
    return base + t / machine.rows * 16 + f;
  }
  std::int64_t dense_beat(std::int64_t base, int j, int i) const {
    return base + (i / machine.cols * step_.groups + i % machine.cols / machine.rows) * kWeights +
           j;
  }
  void clear(std::int64_t beat) {
    for (int lane = 0; lane < machine.lanes(); ++lane) word(golden_, beat, lane) = 0;
  }
  double read(const Words& outside, std::int64_t beat, std::int64_t lane) const {
    return number(outside[static_cast<std::size_t>(beat * machine.lanes() + lane)]);
  }
  double read16(const Words& outside, std::int64_t beat, std::int64_t lane) const {
    return number(outside[static_cast<std::size_t>(beat * machine.lanes() + lane)] << 16);
  }
  double matrix(const Words& outside, int row, int i) const {
    return read16(outside, at_.conv.beat(i / machine.cols, row), i % machine.cols);
  }
  double weight(const Words& outside, int j, int i) const {
    return read16(outside, at_.dense.beat(i / machine.cols, j), i % machine.cols);
  }
  // v' = v - v / 8 + g, w' = w - v' / 2^shift, and the rounded weight.
  void moved(Value gradient, std::int64_t precise, std::int64_t velocity, std::int64_t lane,
             int shift, double seen) const {
    const double v = read(old_, velocity, lane), next = read(now_, velocity, lane),
                 w = read(old_, precise, lane), result = read(now_, precise, lane);
    EXPECT_NEAR(next, v * 7 / 8 + gradient.value,
                gradient.bound + std::ldexp(std::fabs(v) + std::fabs(next), -23));
    EXPECT_NEAR(result, w - std::ldexp(next, -shift), std::ldexp(std::fabs(result), -23));
    EXPECT_EQ(seen, rounded(result));
  }

  Outside places_;
  Memories at_;
  LayerProgram layer_;
  PredictorStep step_;
  Golden golden_;
  Words start_, old_, now_;
  std::int64_t scale_ = 0, velocities_ = 0, cells_ = 0;
};

double Learning::compare() {
  using std::vector;
  const auto outside = [&](std::int64_t beat, std::int64_t lane) {
    return old_[static_cast<std::size_t>(beat * machine.lanes() + lane)];
  };
  const int scale = static_cast<int>(outside(scale_, 0));
  double loss = 0;
  vector<Sum> dense_gradient(kWeights * 257), matrix_gradient(128 * 27);
  for (int c = 0; c < kChannels; ++c) {
    const int tile = c / machine.rows, lane = c % machine.rows;
    const auto cell = [&](int i) { return read16(now_, cells_ + tile * at_.cell_rows + i, lane); };
    vector<Value> hidden(1024);
    for (int h = 0; h < 1024; ++h) {
      Sum sum;
      for (int i = 0; i < 27; ++i) sum.add({matrix(old_, h % 128, i)}, {cell(h / 128 * 9 + i)});
      hidden[h] = sum.done();
    }
    vector<Value> features(257);
    features[256] = {1, 0};
    for (int i = 0; i < 256; ++i) {
      Sum sum;
      for (int p = 0; p < 4; ++p) {
        const Value h = hidden[(i / 64 * 2 + p / 2) * 128 + i / 4 % 16 * 8 + i % 4 * 2 + p % 2];
        sum.add({std::max(h.value, 0.0), h.bound});
      }
      features[i] = narrow_of(times(sum.done(), 0.25));
    }
    vector<Sum> feature_gradient(256);
    for (int j = 0; j < kWeights; ++j) {
      Sum sum;
      for (int i = 0; i < 257; ++i) sum.add({weight(old_, j, i)}, features[i]);
      // From velocities of 0, the layer's are its gradient.
      sum.add({-std::ldexp(read(now_, velocities_ + tile * 30 + j, lane), scale)});
      const Value error = narrow_of(times(sum.done(), 1.0 / 16));  // of 20 channels
      loss += error.value * error.value;
      for (int i = 0; i < 257; ++i) dense_gradient[j * 257 + i].add(error, features[i]);
      for (int i = 0; i < 256; ++i) feature_gradient[i].add(error, {weight(old_, j, i)});
    }
    for (int h = 0; h < 1024; ++h) {
      const int row = h / 128, f = h / 8 % 16, column = h % 8;
      const Value d = times(feature_gradient[row / 2 * 64 + f * 4 + column / 2].done(), 0.25);
      Value slope = narrow_of(d);
      if (hidden[h].value <= 0) slope = {};
      // The machine may see the other side of the ReLU.
      if (std::fabs(hidden[h].value) <= hidden[h].bound)
        slope.bound =
            narrow_of({std::fabs(d.value) + d.bound, 0}).bound + std::fabs(d.value) + d.bound;
      for (int i = 0; i < 27; ++i)
        matrix_gradient[h % 128 * 27 + i].add(slope, {cell(row * 9 + i)});
    }
  }
  for (int j = 0; j < kWeights; ++j)
    for (int i = 0; i < 257; ++i)
      moved(narrow_of(dense_gradient[j * 257 + i].done()), dense_beat(step_.dense.precise, j, i),
            dense_beat(step_.dense.velocities, j, i), i % machine.cols % machine.rows, 8,
            weight(now_, j, i));
  for (int f = 0; f < 16; ++f) {
    Sum sums[10];
    for (int column = 0; column < 8; ++column)
      for (int i = 0; i < 27; ++i)
        if (const int t = input(i, column); t >= 0) {
          sums[t].add(narrow_of(matrix_gradient[(f * 8 + column) * 27 + i].done()));
        }
    for (int t = 0; t < 10; ++t) {
      const std::int64_t precise = filter_beat(step_.filters.precise, f, t);
      const int middle = t == 9 ? 17 : t / 3 * 9 + t % 3 + 2;  // at column 3
      moved(narrow_of(sums[t].done()), precise, filter_beat(step_.filters.velocities, f, t),
            t % machine.rows, 8 + 4, matrix(now_, f * 8 + 3, middle));
      for (int column = 0; column < 8; ++column)
        for (int i = 0; i < 27; ++i)
          if (input(i, column) == t) {
            EXPECT_EQ(matrix(now_, f * 8 + column, i), matrix(now_, f * 8 + 3, middle));
          }
    }
    for (int column = 0; column < 8; ++column)
      for (int i = 0; i < 30; ++i)
        if (input(i, column) < 0) {
          EXPECT_EQ(matrix(now_, f * 8 + column, i), 0) << column << " " << i;
        }
  }
  return loss;
}

TEST(MachinePredictor, LearnsByTheFormulas) {
  for (const Design design : {Design::kLow, Design::kEfficient}) {
    Learning machine(design);
    double first = 0, last = 0;
    for (int batch = 0; batch < 20; ++batch) {
      machine.batch();
      last = machine.compare();
      if (batch == 0) first = last;
      if (HasFailure()) return;
    }
    EXPECT_LT(last, first / 2);
  }
}

}  // namespace
}  // namespace adagp::rtl
