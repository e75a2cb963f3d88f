// What the predictor learns on the machine, against the same formulas in double precision. Every
// batch starts from the machine's own numbers and must end within the rounding errors of its
// format.
#include <gtest/gtest.h>

#include "adagp/base/core/text.h"
#include "predictor_example.h"
#include "rounding.h"

namespace adagp::rtl {
namespace {

using Words = std::vector<std::uint32_t>;

// Where one layer's part of the backward pass finds its numbers outside.
struct Places {
  std::int64_t scale = 0, gradients = 0, cells = 0, velocities = 0;
};

class Learning : public Example {
 public:
  template <typename... Options>
  explicit Learning(Design design, Options... options)
      : Example(design, options...),
        places_(machine, network),
        golden_(machine, static_cast<std::size_t>(made.outside_beats)) {
    fill(golden_);
    for (std::size_t l = 0; l < network.layers.size(); ++l) find_layer(l);
    start_ = golden_.outside();
  }

  // A warm-up batch; the layers themselves begin anew, so that their gradients are the same in
  // each.
  void batch() {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      const std::int64_t velocities = of_layer_[l].velocities,
                         rows = channel_tiles(network.layers[l]) * tile_rows(network.layers[l]);
      for (std::int64_t i = (velocities - 2 * rows) * machine.lanes();
           i < velocities * machine.lanes(); ++i)
        golden_.outside()[static_cast<std::size_t>(i)] = start_[static_cast<std::size_t>(i)];
      for (std::int64_t beat = velocities; beat < velocities + rows; ++beat) clear(beat);
    }
    old_ = golden_.outside();
    golden_.run_batch(made.program, Phase::kWarm);
    now_ = golden_.outside();
  }

  // Holds what the batch did to the predictor against the formulas; returns its loss, the sum of
  // the squared errors.
  double compare();

 private:
  std::int64_t channel_tiles(const LayerProduct& layer) const {
    return layer.groups * pieces(layer.n, machine.rows);
  }
  // Of W, for a tile of channels.
  std::int64_t tile_rows(const LayerProduct& layer) const {
    return pieces(layer.k, machine.cols) * machine.cols;
  }

  // From the transfers of its backward part; gives it gradients as small as its scale expects.
  void find_layer(std::size_t l) {
    const bool last = l + 1 == network.layers.size();
    const std::size_t from = last ? made.forward_end.back() : made.backward_end[l + 1];
    const auto first = [&](Buffer b, bool store, std::int64_t rows) -> std::int64_t {
      for (std::size_t i = from; i < made.backward_end[l]; ++i) {
        const Descriptor& d = made.program[i];
        if (static_cast<Op>(d.op) == Op::kDma && static_cast<Buffer>(d.kind) == b &&
            (d.store != 0) == store && (rows == 0 || d.n0 == rows))
          return d.addr;
      }
      throw std::runtime_error("no such transfer");
    };
    const bool beside = machine.has_predictor_array();
    const Places& at = of_layer_.emplace_back(
        Places{first(Buffer::kP, true, 1), first(Buffer::kG, false, network.layers[l].m),
               beside ? stored_cells(l) : first(Buffer::kW, false, places_.at().cell_rows),
               first(Buffer::kV, true, 0)});
    const std::int64_t rows = channel_tiles(network.layers[l]) * network.layers[l].m;
    for (std::int64_t beat = at.gradients; beat < at.gradients + rows; ++beat)
      for (int lane = 0; lane < machine.lanes(); ++lane)
        word(golden_, beat, lane) = data_of(normal(random) / 256);
    for (int lane = 0; lane < machine.lanes(); ++lane) word(golden_, at.scale, lane) = 3;
  }

  // max: the forward part of each layer stores the cells of all its channels.
  std::int64_t stored_cells(std::size_t l) const {
    for (const Descriptor& d : made.program)
      if (static_cast<Op>(d.op) == Op::kDma && static_cast<Buffer>(d.kind) == Buffer::kPw &&
          d.store != 0 && l-- == 0)
        return d.addr;
    throw std::runtime_error("no such transfer");
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
    return read16(outside, places_.at().conv.beat(i / places_.columns(), row),
                  i % places_.columns());
  }
  double weight(const Words& outside, std::int64_t j, int i) const {
    return read16(outside, places_.at().dense.beat(i / places_.columns(), j),
                  i % places_.columns());
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
  // What one channel of a layer adds to the gradients; returns its loss.
  double add_channel(const LayerProduct& layer, const Places& at, std::int64_t channel,
                     std::vector<Sum>& dense_gradient, std::vector<Sum>& matrix_gradient) const;

  PredictorPlaces places_;
  Golden golden_;
  Words start_, old_, now_;
  std::vector<Places> of_layer_;
};

double Learning::add_channel(const LayerProduct& layer, const Places& at, std::int64_t channel,
                             std::vector<Sum>& dense_gradient,
                             std::vector<Sum>& matrix_gradient) const {
  using std::vector;
  const std::int64_t c = channel % layer.n, lane = c % machine.rows,
                     tile = channel / layer.n * pieces(layer.n, machine.rows) + c / machine.rows;
  // The second array learns behind the main array's work on the layer.
  const bool beside = machine.has_predictor_array();
  const Words& scales = beside ? now_ : old_;
  const int scale = static_cast<int>(scales[static_cast<std::size_t>(at.scale * machine.lanes())]);
  const std::int64_t own_rows = beside ? machine.pred_rows : machine.rows,
                     at_channel = tile * machine.rows + lane;
  const int shift = std::bit_width(static_cast<std::uint64_t>(layer.groups * layer.n)) - 1;
  double loss = 0;
  const auto cell = [&](int i) {
    return read16(now_, at.cells + at_channel / own_rows * places_.at().cell_rows + i,
                  at_channel % own_rows);
  };
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
  for (std::int64_t j = 0; j < layer.k; ++j) {
    Sum sum;
    for (int i = 0; i < 257; ++i) sum.add({weight(old_, j, i)}, features[i]);
    // From velocities of 0, the layer's are its gradient.
    const double gradient = read(now_, at.velocities + tile * tile_rows(layer) + j, lane);
    sum.add({-std::ldexp(gradient, scale)});
    const Value error = narrow_of(times(sum.done(), std::ldexp(1, -shift)));
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
    for (int i = 0; i < 27; ++i) matrix_gradient[h % 128 * 27 + i].add(slope, {cell(row * 9 + i)});
  }
  return loss;
}

double Learning::compare() {
  double loss = 0;
  std::vector<Sum> dense_gradient(static_cast<std::size_t>(widest) * 257),
      matrix_gradient(128 * 27);
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const LayerProduct& layer = network.layers[l];
    for (std::int64_t c = 0; c < layer.groups * layer.n; ++c)
      loss += add_channel(layer, of_layer_[l], c, dense_gradient, matrix_gradient);
  }
  for (std::int64_t j = 0; j < widest; ++j)
    for (int i = 0; i < 257; ++i)
      moved(narrow_of(dense_gradient[j * 257 + i].done()),
            places_.dense_beat(places_.step().dense.precise, j, i),
            places_.dense_beat(places_.step().dense.velocities, j, i),
            places_.lane_of(i, places_.columns()), 8, weight(now_, j, i));
  const int shift = 8 + std::bit_width(static_cast<std::uint64_t>(widest)) - 1;
  for (int f = 0; f < 16; ++f) {
    Sum sums[10];
    for (int column = 0; column < 8; ++column)
      for (int i = 0; i < 27; ++i)
        if (const int t = PredictorPlaces::input(i, column); t >= 0) {
          sums[t].add(narrow_of(matrix_gradient[(f * 8 + column) * 27 + i].done()));
        }
    for (int t = 0; t < 10; ++t) {
      const std::int64_t precise = places_.filter_beat(places_.step().filters.precise, f, t);
      const int middle = t == 9 ? 17 : t / 3 * 9 + t % 3 + 2;  // at column 3
      moved(narrow_of(sums[t].done()), precise,
            places_.filter_beat(places_.step().filters.velocities, f, t),
            places_.lane_of(t, machine.cols), shift, matrix(now_, f * 8 + 3, middle));
      for (int column = 0; column < 8; ++column)
        for (int i = 0; i < 27; ++i)
          if (PredictorPlaces::input(i, column) == t) {
            EXPECT_EQ(matrix(now_, f * 8 + column, i), matrix(now_, f * 8 + 3, middle));
          }
    }
    for (int column = 0; column < 8; ++column)
      for (int i = 0; i < places_.at().conv.tiles * places_.columns(); ++i)
        if (PredictorPlaces::input(i, column) < 0) {
          EXPECT_EQ(matrix(now_, f * 8 + column, i), 0) << column << " " << i;
        }
  }
  return loss;
}

TEST(MachinePredictor, LearnsByTheFormulas) {
  for (const Design design : {Design::kLow, Design::kEfficient, Design::kMax}) {
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

// Gradients of several layers add up: the last one begins them, and a layer in front of it may have
// longer or shorter filters. A part of the predictor has 1024 weights of a filter at most.
TEST(MachinePredictor, LearnsFromEveryLayer) {
  const LayerProduct narrow = convolution(1, 4, 7, 6), wide = convolution(1, 8, 21, 5),
                     grouped = convolution(2, 4, 9, 5), long_one = convolution(1, 4, 1030, 3);
  const std::vector<LayerProduct> cases[] = {
      {wide, narrow}, {narrow, wide}, {grouped, narrow}, {long_one, narrow}, {narrow, long_one}};
  for (const Design design : {Design::kLow, Design::kEfficient, Design::kMax})
    for (const std::vector<LayerProduct>& layers : cases) {
      SCOPED_TRACE(core::cat(kDesignNames[static_cast<int>(design)], ", filters of ", layers[0].k,
                             " and ", layers[1].k));
      Learning machine(design, layers, 4, 5);
      for (int batch = 0; batch < 2; ++batch) {
        machine.batch();
        machine.compare();
        if (HasFailure()) return;
      }
    }
}

}  // namespace
}  // namespace adagp::rtl
