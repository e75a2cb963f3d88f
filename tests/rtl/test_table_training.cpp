// A network of a layer table (configs/layers), trained on one configuration. The machine computes
// the layers' products, activations, gradients and updates, and its predictor learns and predicts.
// Between two layers the host does what the machine has no unit for: im2col and its inverse, max
// pooling, softmax with cross-entropy. Batch norm and biases are left out.
//   bits    after each layer's part, all bits of the outside memory equal the golden model's (with
//           them every loss and weight), and every counter the cycle model's;
//   values  outputs, gradients of inputs, velocities and weights are those of the formulas in
//   double
//           precision, from the machine's own numbers in front of the part, within the rounding
//           errors of the format;
//   loss    its mean over the last epoch is below that over the first.
// The first epoch is warm-up, then come GP and BP batches in turn.
// Usage: test_table_training TABLE.csv [BATCH] [BATCHES of an epoch] [EPOCHS]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "golden.h"
#include "model.h"
#include "predictor_places.h"

namespace {

using namespace adagp;
using namespace adagp::rtl;
using Values = std::vector<double>;

constexpr double kHalfUnit = 1.0 / 256;  // of bfloat16, relative
constexpr int kClasses = 10;
// The machine's step is 2^-6 with a momentum of 7/8, which is too long for the whole loss.
constexpr double kLossShare = 1.0 / 16;

struct Layer {
  std::string name;
  int inputs, side, outputs, kernel;
  bool pooled = false;  // to half of the side, behind the activation
};

void require(bool holds, const std::string& what) {
  if (!holds) throw Error("training: " + what);
}

// Convolutions of stride 1 that keep the side, and linear layers, one behind the other.
std::vector<Layer> read_table(const std::string& path) {
  std::istringstream table(core::read_file(path));
  std::vector<Layer> layers;
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::vector<std::string> f;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
    const auto number_at = [&](std::size_t i) { return std::atoi(f.at(i).c_str()); };
    if (f.at(3) == "pool") {
      require(!layers.empty() && number_at(5) == 2 * number_at(8), f[2] + " does not halve a side");
      layers.back().pooled = true;
    }
    if (f[3] != "conv2d" && f[3] != "linear") {
      require(f[3] != "add", f[2] + " adds what another layer made");
      continue;
    }
    const int kernel = number_at(10);
    require(number_at(5) == number_at(8) && number_at(12) == 1 && number_at(14) == kernel / 2 &&
                number_at(16) == 1,
            f[2] + " has a stride, groups or another padding");
    layers.push_back({f[2], number_at(4), number_at(5), number_at(7), kernel});
  }
  require(!layers.empty(), path + " has no layer");
  return layers;
}

Network network_of(const std::vector<Layer>& layers, int batch) {
  Network out{"table", batch, {}};
  for (const Layer& layer : layers) {
    LayerProduct product;
    product.name = layer.name;
    product.height = product.width = layer.side;
    product.m = std::int64_t{batch} * layer.side * layer.side;
    product.k = std::int64_t{layer.inputs} * layer.kernel * layer.kernel;
    product.n = layer.outputs;
    product.input_gradient = !out.layers.empty();
    out.layers.push_back(product);
  }
  return out;
}

class Training {
 public:
  Training(const std::vector<Layer>& layers, int batch)
      : machine_(built_machine()),
        layers_(layers),
        batch_(batch),
        network_(network_of(layers, batch)),
        made_(make_program(machine_, network_)),
        predictor_(machine_, network_),
        golden_(machine_, static_cast<std::size_t>(made_.outside_beats)),
        model_(static_cast<std::size_t>(made_.outside_beats)) {
    for (std::size_t l = 0; l < layers_.size(); ++l) add_parts(l);
    start();
  }

  // Returns the loss.
  double step(Phase phase, const Values& images, const std::vector<int>& labels) {
    Values values = images;
    std::vector<std::vector<std::size_t>> chosen(layers_.size());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      write_inputs(l, values);
      run(forward_[l], phase);
      values = check_outputs(l);
      if (layers_[l].pooled) values = pool(l, values, chosen[l]);
    }
    double loss = 0;
    Values gradients = loss_gradients(values, labels, loss);
    for (std::size_t l = layers_.size(); l-- > 0 && phase != Phase::kGp;) {
      if (layers_[l].pooled) {
        Values wide(static_cast<std::size_t>(network_.layers[l].m) * layers_[l].outputs);
        for (std::size_t i = 0; i < gradients.size(); ++i) wide[chosen[l][i]] += gradients[i];
        gradients = std::move(wide);
      }
      write_gradients(l, gradients);
      run(backward_[l], phase);
      check_update(l);
      if (l > 0) gradients = check_input_gradients(l);
    }
    return loss;
  }

  std::uint64_t cycles() const { return cycles_; }
  // The largest part of its bound that a difference from the formulas reached.
  double nearest() const { return nearest_; }

 private:
  // Regrouped rows: channels of tiles of `from` lanes from tile `first` on, as groups of `to`.
  struct Stored {
    std::int64_t beat, first, count, from, to;
  };
  // Outside.
  struct Places {
    std::int64_t inputs = 0, gradients = 0, weights = 0, precise = 0, velocities = 0;
    std::vector<Stored> outputs, input_gradients;
  };

  // The program up to the end of a layer's part is a program of its own, and its transfers say
  // where the layer's numbers are.
  void add_parts(std::size_t l) {
    const auto part = [&](std::size_t from, std::size_t to) {
      Program out(made_.program.begin() + static_cast<std::ptrdiff_t>(from),
                  made_.program.begin() + static_cast<std::ptrdiff_t>(to));
      out.push_back(descriptor(Op::kEnd, kEveryPhase, 0));
      return out;
    };
    const bool last = l + 1 == layers_.size();
    forward_.push_back(part(l == 0 ? 0 : made_.forward_end[l - 1], made_.forward_end[l]));
    backward_.push_back(
        part(last ? made_.forward_end[l] : made_.backward_end[l + 1], made_.backward_end[l]));
    const auto is = [](const Descriptor& d, std::uint32_t mask, Buffer b, bool store) {
      return static_cast<Op>(d.op) == Op::kDma && d.mask == mask &&
             static_cast<Buffer>(d.kind) == b && (d.store != 0) == store;
    };
    const auto first = [&](const Program& program, std::uint32_t mask, Buffer b, bool store,
                           std::int64_t rows) -> std::int64_t {
      for (const Descriptor& d : program)
        if (is(d, mask, b, store) && (rows == 0 || d.n0 == rows)) return d.addr;
      throw Error("training: no such transfer");
    };
    const LayerProduct& layer = network_.layers[l];
    Places at;
    at.inputs = first(forward_[l], kEveryPhase, Buffer::kX, false, layer.m);
    at.weights = first(forward_[l], kEveryPhase, Buffer::kW, false, machine_.cols);
    at.gradients = first(backward_[l], kExactPhases, Buffer::kG, false, layer.m);
    const std::int64_t rows = pieces(layer.n, machine_.rows) * tile_rows(l);
    at.precise = at.weights + rows;
    at.velocities = at.precise + rows;
    const auto stored = [&](Program& program, std::uint32_t mask, VecKind kind, Buffer b,
                            std::int64_t from, std::int64_t to) {
      std::vector<Stored> out;
      std::int64_t begin = 0, count = 0;
      for (Descriptor& d : program) {
        if (static_cast<Op>(d.op) == Op::kTile && d.mode == static_cast<std::uint32_t>(Mode::kDw))
          break;  // what comes now is the weights'
        if (static_cast<Op>(d.op) == Op::kVec && d.mask == mask &&
            d.kind == static_cast<std::uint32_t>(kind)) {
          ++count;
          // The loss reads the last layer's sums.
          if (last && kind == VecKind::kAct) d.relu = 0;
        }
        if (!is(d, mask, b, true)) continue;
        out.push_back({d.addr, begin, count, from, to});
        begin += std::exchange(count, 0);
      }
      return out;
    };
    at.outputs =
        stored(forward_[l], kEveryPhase, VecKind::kAct, Buffer::kX, machine_.rows, machine_.cols);
    if (l > 0)
      at.input_gradients = stored(backward_[l], kExactPhases, VecKind::kBack, Buffer::kG,
                                  machine_.cols, machine_.rows);
    places_.push_back(std::move(at));
  }

  // Weights of the size that keeps that of the activations; velocities are 0.
  void start() {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    const auto rounded = [&](double x) {
      return number(static_cast<std::uint32_t>(data_of(x * normal(random))) << 16);
    };
    const auto widest = static_cast<std::size_t>(predictor_.at().dense.outputs);
    PredictorStart weights{Values(16 * 9), Values(16), Values(widest * 256), Values(widest)};
    for (double& w : weights.filter) w = rounded(1.0 / 3);
    for (double& w : weights.dense) w = rounded(1.0 / 16);
    predictor_.write(golden_.outside(), weights);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const LayerProduct& layer = network_.layers[l];
      for (std::int64_t n = 0; n < layer.n; ++n)
        for (std::int64_t k = 0; k < layer.k; ++k) {
          const double w = std::sqrt(2.0 / static_cast<double>(layer.k)) * normal(random);
          word(places_[l].precise + weight_row(l, n, k), n % machine_.rows) = sum_of(w);
          word(places_[l].weights + weight_row(l, n, k), n % machine_.rows) = data_of(w);
        }
    }
    model_.outside() = golden_.outside();
  }

  std::int64_t tile_rows(std::size_t l) const {
    return pieces(network_.layers[l].k, machine_.cols) * machine_.cols;
  }
  std::int64_t weight_row(std::size_t l, std::int64_t n, std::int64_t k) const {
    return n / machine_.rows * tile_rows(l) + k;
  }
  std::uint32_t& word(std::int64_t beat, std::int64_t lane) {
    return golden_.outside()[static_cast<std::size_t>(beat * machine_.lanes() + lane)];
  }
  double data(const std::vector<std::uint32_t>& outside, std::int64_t beat,
              std::int64_t lane) const {
    return number(outside[static_cast<std::size_t>(beat * machine_.lanes() + lane)] << 16);
  }
  double sum(const std::vector<std::uint32_t>& outside, std::int64_t beat,
             std::int64_t lane) const {
    return number(outside[static_cast<std::size_t>(beat * machine_.lanes() + lane)]);
  }

  void run(const Program& part, Phase phase) {
    before_ = golden_.outside();
    model_.outside() = before_;
    const Counts seen = model_.run(part, one_batch(phase), {});
    golden_.run_batch(part, phase);
    require(model_.outside() == golden_.outside(), "memory differs from the golden model");
    require(seen == predict(machine_, part, one_batch(phase)),
            "counters differ from the cycle model");
    cycles_ += seen.cycles;
  }

  // Calls move(place in the images, weight k, row) for each input of each output.
  template <typename Move>
  void each_input(std::size_t l, const Move& move) const {
    const Layer& layer = layers_[l];
    const int side = layer.side, pad = layer.kernel / 2;
    for (int b = 0, row = 0; b < batch_; ++b)
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x, ++row)
          for (int c = 0, k = 0; c < layer.inputs; ++c)
            for (int dy = 0; dy < layer.kernel; ++dy)
              for (int dx = 0; dx < layer.kernel; ++dx, ++k) {
                const int from_y = y + dy - pad, from_x = x + dx - pad;
                const bool inside = from_y >= 0 && from_y < side && from_x >= 0 && from_x < side;
                move(inside ? ((b * layer.inputs + c) * side + from_y) * side + from_x : -1, k,
                     row);
              }
  }

  void write_inputs(std::size_t l, const Values& values) {
    each_input(l, [&](int from, int k, int row) {
      word(places_[l].inputs + k / machine_.cols * network_.layers[l].m + row, k % machine_.cols) =
          data_of(from < 0 ? 0 : values[static_cast<std::size_t>(from)]);
    });
  }

  // [image][channel][pixel] of the layer's outputs.
  std::size_t output(std::size_t l, std::int64_t n, std::int64_t row) const {
    const std::int64_t pixels = network_.layers[l].m / batch_;
    return static_cast<std::size_t>((row / pixels * layers_[l].outputs + n) * pixels +
                                    row % pixels);
  }
  void write_gradients(std::size_t l, const Values& values) {
    const LayerProduct& layer = network_.layers[l];
    for (std::int64_t n = 0; n < layer.n; ++n)
      for (std::int64_t row = 0; row < layer.m; ++row)
        word(places_[l].gradients + n / machine_.rows * layer.m + row, n % machine_.rows) =
            data_of(values[output(l, n, row)]);
  }

  // Matrices in front of the part at hand.
  Values inputs(std::size_t l) const {  // [row][k]
    const LayerProduct& layer = network_.layers[l];
    Values out;
    for (std::int64_t row = 0; row < layer.m; ++row)
      for (std::int64_t k = 0; k < layer.k; ++k)
        out.push_back(data(before_, places_[l].inputs + k / machine_.cols * layer.m + row,
                           k % machine_.cols));
    return out;
  }
  Values weights(std::size_t l) const {  // [n][k]
    Values out;
    for (std::int64_t n = 0; n < network_.layers[l].n; ++n)
      for (std::int64_t k = 0; k < network_.layers[l].k; ++k)
        out.push_back(data(before_, places_[l].weights + weight_row(l, n, k), n % machine_.rows));
    return out;
  }
  Values gradients(std::size_t l) const {  // [row][n]
    const LayerProduct& layer = network_.layers[l];
    Values out;
    for (std::int64_t row = 0; row < layer.m; ++row)
      for (std::int64_t n = 0; n < layer.n; ++n)
        out.push_back(data(before_, places_[l].gradients + n / machine_.rows * layer.m + row,
                           n % machine_.rows));
    return out;
  }

  double stored(const std::vector<Stored>& places, std::int64_t channel, std::int64_t row,
                std::int64_t m) {
    for (const Stored& at : places)
      if (channel < (at.first + at.count) * at.from)
        return data(golden_.outside(),
                    at.beat + (channel / at.to - at.first * at.from / at.to) * m + row,
                    channel % at.to);
    throw Error("training: a channel was not stored");
  }

  void near(double seen, double value, double bound, std::size_t l, const char* what) {
    const double distance = std::fabs(seen - value);
    if (bound > 0) nearest_ = std::max(nearest_, distance / bound);
    require(distance <= bound, core::cat(layers_[l].name, ": ", what, " ", seen, ", not within ",
                                         bound, " of ", value));
  }
  // A sum of products in float32: each addition is off by at most 2^-24 of what is added up.
  struct Product {
    double value = 0, sizes = 0;
    void add(double a, double b) {
      value += a * b;
      sizes += std::fabs(a * b);
    }
    double bound(std::int64_t count) const {
      return std::ldexp(sizes * static_cast<double>(count), -24);
    }
  };
  static double narrow_bound(double value, double bound) {
    return bound + kHalfUnit * (std::fabs(value) + bound);
  }

  Values check_outputs(std::size_t l) {
    const LayerProduct& layer = network_.layers[l];
    const Values x = inputs(l), w = weights(l);
    Values out(static_cast<std::size_t>(layer.m * layer.n));
    for (std::int64_t row = 0; row < layer.m; ++row)
      for (std::int64_t n = 0; n < layer.n; ++n) {
        Product p;
        for (std::int64_t k = 0; k < layer.k; ++k)
          p.add(x[static_cast<std::size_t>(row * layer.k + k)],
                w[static_cast<std::size_t>(n * layer.k + k)]);
        const double seen = stored(places_[l].outputs, n, row, layer.m);
        const double value = l + 1 < layers_.size() ? std::max(p.value, 0.0) : p.value;
        near(seen, value, narrow_bound(value, p.bound(layer.k)), l, "an output is");
        out[output(l, n, row)] = seen;
      }
    return out;
  }

  Values check_input_gradients(std::size_t l) {
    const LayerProduct& layer = network_.layers[l];
    const Values x = inputs(l), w = weights(l), g = gradients(l);
    Values out(static_cast<std::size_t>(batch_) * layers_[l].inputs * layers_[l].side *
               layers_[l].side);
    each_input(l, [&](int from, int k, int row) {
      if (from < 0) return;
      Product p;
      for (std::int64_t n = 0; n < layer.n; ++n)
        p.add(g[static_cast<std::size_t>(row * layer.n + n)],
              w[static_cast<std::size_t>(n * layer.k + k)]);
      const bool passes = x[static_cast<std::size_t>(row * layer.k + k)] > 0;
      const double value = passes ? p.value : 0,
                   seen = stored(places_[l].input_gradients, k, row, layer.m);
      near(seen, value, passes ? narrow_bound(value, p.bound(layer.n)) : 0, l,
           "a gradient of an input is");
      out[static_cast<std::size_t>(from)] += seen;
    });
    return out;
  }

  // v' = v - v / 8 + g, w' = w - v' / 64.
  void check_update(std::size_t l) {
    const LayerProduct& layer = network_.layers[l];
    const Values x = inputs(l), g = gradients(l);
    for (std::int64_t n = 0; n < layer.n; ++n)
      for (std::int64_t k = 0; k < layer.k; ++k) {
        Product p;
        for (std::int64_t row = 0; row < layer.m; ++row)
          p.add(x[static_cast<std::size_t>(row * layer.k + k)],
                g[static_cast<std::size_t>(row * layer.n + n)]);
        const std::int64_t row = weight_row(l, n, k), lane = n % machine_.rows;
        const auto& now = golden_.outside();
        const double v = sum(before_, places_[l].velocities + row, lane),
                     next = sum(now, places_[l].velocities + row, lane),
                     w = sum(before_, places_[l].precise + row, lane),
                     result = sum(now, places_[l].precise + row, lane);
        near(next, v * 7 / 8 + p.value,
             p.bound(layer.m) + std::ldexp(std::fabs(v) + std::fabs(next), -23), l,
             "a velocity is");
        near(result, w - next / 64, std::ldexp(std::fabs(w) + std::fabs(result), -24), l,
             "a weight is");
        require(word(places_[l].weights + row, lane) == data_of(result),
                layers_[l].name + ": a weight is rounded wrongly");
      }
  }

  // Of 2x2; `chosen` says where each maximum was.
  Values pool(std::size_t l, const Values& values, std::vector<std::size_t>& chosen) const {
    const int side = layers_[l].side, half = side / 2;
    Values out;
    for (int map = 0; map < batch_ * layers_[l].outputs; ++map)
      for (int y = 0; y < half; ++y)
        for (int x = 0; x < half; ++x) {
          std::size_t best = static_cast<std::size_t>((map * side + 2 * y) * side + 2 * x);
          for (const int step : {1, side, side + 1}) {
            const std::size_t at =
                static_cast<std::size_t>((map * side + 2 * y) * side + 2 * x + step);
            if (values[at] > values[best]) best = at;
          }
          chosen.push_back(best);
          out.push_back(values[best]);
        }
    return out;
  }

  // Softmax and cross-entropy, as a mean over the batch.
  Values loss_gradients(const Values& values, const std::vector<int>& labels, double& loss) const {
    Values out;
    for (int b = 0; b < batch_; ++b) {
      const double* y = &values[static_cast<std::size_t>(b * kClasses)];
      const double most = *std::max_element(y, y + kClasses);
      double all = 0;
      for (int c = 0; c < kClasses; ++c) all += std::exp(y[c] - most);
      for (int c = 0; c < kClasses; ++c)
        out.push_back((std::exp(y[c] - most) / all - (labels[static_cast<std::size_t>(b)] == c)) *
                      kLossShare / batch_);
      loss += (std::log(all) + most - y[labels[static_cast<std::size_t>(b)]]) / batch_;
    }
    return out;
  }

  Machine machine_;
  std::vector<Layer> layers_;
  int batch_;
  Network network_;
  NetworkProgram made_;
  PredictorPlaces predictor_;
  Golden golden_;
  Model model_;
  std::vector<Program> forward_, backward_;
  std::vector<Places> places_;
  std::vector<std::uint32_t> before_;  // the outside memory in front of the part at hand
  std::uint64_t cycles_ = 0;
  double nearest_ = 0;
};

// Each class is a coarse random picture; an image adds noise to it.
Values image(int label, int channels, int side, std::uint32_t seed) {
  std::mt19937 of_class(static_cast<std::uint32_t>(label)), of_image(seed);
  std::normal_distribution<double> normal;
  Values coarse, out;
  for (int i = 0; i < channels * 16; ++i) coarse.push_back(normal(of_class));
  normal.reset();
  for (int c = 0; c < channels; ++c)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        out.push_back(coarse[static_cast<std::size_t>(c * 16 + y * 4 / side * 4 + x * 4 / side)] +
                      0.3 * normal(of_image));
  return out;
}

void run(const std::string& table, int batch, int batches, int epochs) {
  const std::vector<Layer> layers = read_table(table);
  require(layers.back().outputs == kClasses && layers.back().side == 1, "ten classes are needed");
  Training training(layers, batch);
  double first = 0, last = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    last = 0;
    for (int i = 0; i < batches; ++i) {
      const Phase phase = epoch == 0 ? Phase::kWarm : i % 2 == 0 ? Phase::kGp : Phase::kBp;
      Values images;
      std::vector<int> labels;
      for (int b = 0; b < batch; ++b) {
        const int index = i * batch + b;
        labels.push_back(index % kClasses);
        const Values one = image(labels.back(), layers[0].inputs, layers[0].side,
                                 1000 + static_cast<std::uint32_t>(index));
        images.insert(images.end(), one.begin(), one.end());
      }
      const double loss = training.step(phase, images, labels);
      last += loss / batches;
      std::printf("epoch %d batch %d (%s): loss %.4f\n", epoch, i,
                  kPhaseNames[static_cast<int>(phase)], loss);
      std::fflush(stdout);
    }
    if (epoch == 0) first = last;
    std::printf("epoch %d: loss %.4f\n", epoch, last);
  }
  require(last < first, "the loss did not fall");
  std::printf(
      "%s: %d batches of %d images equal, loss %.4f -> %.4f, %llu cycles; a value is at most %.2f "
      "of its "
      "bound from the formulas\n",
      kDesignNames[static_cast<int>(built_machine().design)], batches * epochs, batch, first, last,
      static_cast<unsigned long long>(training.cycles()), training.nearest());
}

}  // namespace

int main(int count, char** values) {
  try {
    if (count < 2)
      throw UsageError(
          "usage: test_table_training TABLE.csv [BATCH] [BATCHES of an epoch] [EPOCHS]");
    const auto number_at = [&](int i, int otherwise) {
      return count > i ? std::atoi(values[i]) : otherwise;
    };
    run(values[1], number_at(2, 4), number_at(3, 10), number_at(4, 2));
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return e.exit_code();
  }
}
