#include "adagp/rtl/network_program.h"

#include <bit>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/rtl/cycle_model.h"
#include "adagp/rtl/program_parts.h"

namespace adagp::rtl {
namespace {

// One layer's part of the program. Tiles read one half of X, G and W while the DMA fills the other.
class LayerProgram {
 public:
  LayerProgram(const Machine& machine, const Memories& memories, const Network& network,
               size_t index, Outside& outside)
      : machine_(machine),
        at_(memories),
        network_(network),
        layer_(network.layers[index]),
        odd_(index % 2 != 0),
        outside_(outside) {
    const LayerProduct& layer = layer_;
    k_tiles_ = pieces(layer.k, machine.cols);
    n_tiles_ = pieces(layer.n, machine.rows);
    // Regrouped rows reach one group further than their channels fill.
    rows_ = std::min({layer.m, at_.x_half, at_.g_half,
                      at_.x_rows / (pieces(machine.rows, machine.cols) + 1),
                      at_.y_rows / (pieces(machine.cols, machine.rows) + 1)});
    chunks_ = pieces(layer.m, rows_);
    if (machine.has_predictor() && chunks_ > 1) {
      throw UsageError(core::cat("layer '", layer.name, "': ", layer.m,
                                 " output pixels of a batch do not fit the memories at once (",
                                 rows_,
                                 " do), and the predictor pools over all of them; use a smaller "
                                 "batch or larger memories (rtl.x_bits, rtl.y_bits)"));
    }
    inputs_ = outside.take(layer.groups * k_tiles_ * layer.m);
    gradients_ = outside.take(layer.groups * n_tiles_ * layer.m);
    const std::int64_t weights = layer.groups * n_tiles_ * k_tiles_ * machine.cols;
    for (std::int64_t* place : {&weights_, &precise_, &velocities_}) *place = outside.take(weights);
  }

  // The forward product with its activation; the predictor's pooling where it is to follow.
  Program forward() {
    Program out;
    for (group_ = 0; group_ < layer_.groups; ++group_) {
      for (chunk_ = 0; chunk_ < chunks_; ++chunk_) {
        for (std::int64_t first = 0, count = 0; first < n_tiles_; first += count) {
          count = tiles_at_once(first);
          forward_group(out, first, count);
        }
      }
    }
    return out;
  }

  // The input gradient, the weight gradient and the update.
  Program backward() {
    Program out;
    for (group_ = 0; group_ < layer_.groups; ++group_) {
      for (chunk_ = 0; layer_.input_gradient && chunk_ < chunks_; ++chunk_) input_gradient(out);
      for (std::int64_t t = 0; t < n_tiles_; ++t) weight_gradient(out, t);
    }
    return out;
  }

  // design max: what the second array does for this layer, beside the next one.
  Program beside() {
    Program out;
    const std::int64_t filters = layer_.groups * n_tiles_ * machine_.rows;
    const std::int64_t block = lcm(machine_.rows, machine_.pred_rows);
    for (std::int64_t first = 0; first < filters; first += block) {
      predict_block(out, first, std::min(block, filters - first));
    }
    return out;
  }

 private:
  // Rows of the chunk at hand: the last one may be shorter.
  std::int64_t rows_now() const { return std::min(rows_, layer_.m - chunk_ * rows_); }
  Descriptor load_inputs(std::uint32_t mask, std::int64_t row, std::int64_t k_tile,
                         std::int64_t rows) {
    return load(mask, Buffer::kX, row, rows,
                inputs_ + (group_ * k_tiles_ + k_tile) * layer_.m + chunk_ * rows_);
  }
  Descriptor load_gradients(std::int64_t row, std::int64_t n_tile) {
    return load(kExactPhases, Buffer::kG, row, rows_now(),
                gradients_ + (group_ * n_tiles_ + n_tile) * layer_.m + chunk_ * rows_);
  }
  // In the order of groups, tiles of outputs, tiles of inputs.
  std::int64_t weight_row(std::int64_t n_tile, std::int64_t k_tile) const {
    return ((group_ * n_tiles_ + n_tile) * k_tiles_ + k_tile) * machine_.cols;
  }
  Descriptor load_weights(std::uint32_t mask, std::int64_t row, std::int64_t n_tile,
                          std::int64_t k_tile) {
    return load(mask, Buffer::kW, row, machine_.cols, weights_ + weight_row(n_tile, k_tile));
  }

  // Groups of COLS channels that the activations of these tiles reach in X.
  std::int64_t x_groups(std::int64_t first, std::int64_t count) const {
    const std::int64_t begin = first * machine_.rows, last = (first + count - 1) * machine_.rows;
    const std::int64_t chunks = pieces(machine_.rows, machine_.cols);
    return last / machine_.cols - begin / machine_.cols + chunks + (last % machine_.cols ? 1 : 0);
  }

  std::int64_t tiles_at_once(std::int64_t first) const {
    const std::int64_t room = machine_.has_predictor() ? at_.y_rows - kPredictedRows : at_.y_rows;
    std::int64_t count = std::max<std::int64_t>(
        1, std::min({n_tiles_ - first, room / rows_, at_.w_half / machine_.cols}));
    while (count > 1 && x_groups(first, count) * rows_ > at_.x_rows) --count;
    if (x_groups(first, count) * rows_ > at_.x_rows || count * rows_ > room) {
      throw UsageError(core::cat(
          "layer '", layer_.name, "': ", rows_,
          " rows of one tile do not fit "
          "the memories X and Y; use a smaller batch or larger memories (rtl.x_bits, rtl.y_bits)"));
    }
    return count;
  }

  void forward_group(Program& out, std::int64_t first, std::int64_t count) {
    std::vector<Stage> stages;
    for (std::int64_t kt = 0; kt < k_tiles_; ++kt) {
      Stage stage;
      const std::int64_t x = kt % 2 * at_.x_half, w = kt % 2 * at_.w_half;
      stage.loads.push_back(load_inputs(kEveryPhase, x, kt, rows_now()));
      for (std::int64_t t = 0; t < count; ++t) {
        stage.loads.push_back(load_weights(kEveryPhase, w + t * machine_.cols, first + t, kt));
        Descriptor d = tile(kEveryPhase, Mode::kForward, rows_now());
        d.load_w = 1;
        d.acc_in = kt > 0;
        d.xb = narrow(x);
        d.yb = narrow(t * rows_);
        d.wb = narrow(w + t * machine_.cols);
        stage.tiles.push_back(d);
      }
      stages.push_back(std::move(stage));
    }
    emit(out, stages);
    const std::int64_t origin = first * machine_.rows / machine_.cols;
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t channel = (first + t) * machine_.rows;
      Descriptor d = vec(kEveryPhase, VecKind::kAct, rows_now(), kNotPredictor);
      d.relu = 1;
      d.yb = narrow(t * rows_);
      d.xb = narrow((channel / machine_.cols - origin) * rows_);
      d.rot = narrow(channel % machine_.cols);
      d.gs = narrow(rows_);
      out.push_back(d);
    }
    const std::int64_t stored = x_groups(first, count) * rows_;
    store_all(out, kEveryPhase, Buffer::kX, stored, outside_.take(stored));
    if (!machine_.has_predictor()) return;
    for (std::int64_t t = 0; t < count; ++t) {
      pool(out, first + t, t * rows_);
      if (!machine_.has_predictor_array()) predict_tile(out, first + t);
    }
  }

  // Sides of the pooled output: at most 8, and a window of at least one pixel.
  std::int64_t cells_high() const { return std::min<std::int64_t>(8, layer_.height); }
  std::int64_t cells_wide() const { return std::min<std::int64_t>(8, layer_.width); }
  std::int64_t cells() const { return cells_high() * cells_wide(); }

  // The mean of the output over the batch and over windows, one number for each cell and channel.
  // Pixels that fill no whole window are left out; the divisor is the next lower power of two.
  void pool(Program& out, std::int64_t n_tile, std::int64_t y) {
    const std::int64_t high = cells_high(), wide = cells_wide();
    Descriptor d = descriptor(Op::kReorg, kPredictedPhase, kAllEngines);
    d.kind = static_cast<std::uint32_t>(ReorgKind::kYToW);
    d.n0 = narrow(layer_.width / wide);
    d.n1 = narrow(layer_.height / high);
    d.n2 = narrow(network_.batch);
    d.s0 = 1;
    d.s1 = narrow(layer_.width);
    d.s2 = narrow(layer_.width * layer_.height);
    d.xb = narrow(layer_.width / wide);
    d.s3 = narrow(layer_.height / high * layer_.width);
    d.addr = narrow(wide) | narrow(high) << 16;
    d.shift_a = narrow(std::bit_width(d.rows()) - 1);
    d.yb = narrow(y);
    if (machine_.has_predictor_array()) {
      const std::int64_t channel = (group_ * n_tiles_ + n_tile) * machine_.rows;
      d.psrc = 1;
      d.wb = narrow(at_.pooled(layer_.name, channel / machine_.pred_rows, channel_tiles(), odd_));
      d.rot = narrow(channel % machine_.pred_rows);
      d.gs = narrow(at_.cell_rows);
    } else {
      d.wb = narrow(at_.features);
    }
    out.push_back(d);
  }

  std::int64_t channel_tiles() const {
    return pieces(layer_.groups * n_tiles_ * machine_.rows, machine_.pred_rows) + 1;
  }

  // low, efficient: hidden layer, gradient and update of one tile of channels, on the main array.
  void predict_tile(Program& out, std::int64_t n_tile) {
    predictor_product(out, cells(), kFeatures, 0, at_.features, at_.hidden_in_memory);
    Descriptor d = vec(kPredictedPhase, VecKind::kFeature, kFeatures, kAllEngines);
    d.relu = 1;
    d.yb = narrow(at_.y_rows - kPredictedRows);
    d.xb = narrow(at_.features + at_.cell_rows);
    out.push_back(d);
    for (std::int64_t j = 0; j < layer_.k; j += kPredictedRows) {
      const std::int64_t count = std::min<std::int64_t>(kPredictedRows, layer_.k - j);
      predictor_product(out, kFeatures, count, j, at_.features + at_.cell_rows,
                        at_.final_in_memory);
      update(out, kPredictedPhase, VecKind::kSgdPred, count, weight_row(n_tile, 0) + j);
    }
  }

  // Y[outputs] = predictor weights * features, tile by tile; `stride` rows of PX for each tile.
  void predictor_product(Program& out, std::int64_t inputs, std::int64_t outputs,
                         std::int64_t first, std::int64_t features, PredictorPlace place) {
    std::vector<Stage> stages;
    for (std::int64_t kt = 0; kt < pieces(inputs, machine_.cols); ++kt) {
      Stage stage;
      Descriptor d = tile(kPredictedPhase, Mode::kForward, outputs);
      d.load_w = 1;
      d.acc_in = kt > 0;
      d.yb = narrow(at_.y_rows - kPredictedRows);
      d.wb = narrow(features + kt * machine_.cols);
      if (machine_.has_predictor_memory()) {
        d.psrc = 1;
        d.xb = narrow(place.first + kt * place.stride + first);
      } else {
        d.xb = narrow(kt % 2 * at_.x_half);
        stage.loads.push_back(
            load(kPredictedPhase, Buffer::kX, kt % 2 * at_.x_half, outputs,
                 at_.predictor_outside + place.first + kt * place.stride + first));
      }
      stage.tiles.push_back(d);
      stages.push_back(std::move(stage));
    }
    emit(out, stages);
  }

  void input_gradient(Program& out) {
    for (std::int64_t first = 0, count = 0; first < k_tiles_; first += count) {
      count = std::max<std::int64_t>(
          1, std::min({k_tiles_ - first, at_.x_rows / rows_, at_.w_half / machine_.cols}));
      while (count > 1 && g_groups(first, count) * rows_ > at_.y_rows) --count;
      if (g_groups(first, count) * rows_ > at_.y_rows) {
        throw UsageError(core::cat("layer '", layer_.name, "': ", rows_,
                                   " rows of a gradient do not fit the memory G; use a smaller "
                                   "batch or larger memories (rtl.x_bits, rtl.y_bits)"));
      }
      input_gradient_group(out, first, count);
    }
  }

  // Groups of ROWS channels that the input gradients of these tiles reach in G.
  std::int64_t g_groups(std::int64_t first, std::int64_t count) const {
    const std::int64_t begin = first * machine_.cols, last = (first + count - 1) * machine_.cols;
    const std::int64_t chunks = pieces(machine_.cols, machine_.rows);
    return last / machine_.rows - begin / machine_.rows + chunks + (last % machine_.rows ? 1 : 0);
  }

  void input_gradient_group(Program& out, std::int64_t first, std::int64_t count) {
    std::vector<Stage> stages;
    for (std::int64_t nt = 0; nt < n_tiles_; ++nt) {
      Stage stage;
      const std::int64_t g = nt % 2 * at_.g_half, w = nt % 2 * at_.w_half;
      stage.loads.push_back(load_gradients(g, nt));
      for (std::int64_t t = 0; t < count; ++t) {
        stage.loads.push_back(load_weights(kExactPhases, w + t * machine_.cols, nt, first + t));
        Descriptor d = tile(kExactPhases, Mode::kDx, rows_now());
        d.load_w = 1;
        d.acc_in = nt > 0;
        d.xb = narrow(t * rows_);
        d.yb = narrow(g);
        d.wb = narrow(w + t * machine_.cols);
        stage.tiles.push_back(d);
      }
      stages.push_back(std::move(stage));
    }
    emit(out, stages);
    // The ReLU's mask: the activations at the addresses of their gradients.
    for (std::int64_t t = 0; t < count; ++t) {
      Descriptor mask = load_inputs(kExactPhases, t * rows_, first + t, rows_now());
      mask.wait = kAllEngines;
      out.push_back(mask);
    }
    const std::int64_t origin = first * machine_.cols / machine_.rows;
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t channel = (first + t) * machine_.cols;
      Descriptor d = vec(kExactPhases, VecKind::kBack, rows_now(), kAllEngines);
      d.relu = 1;
      d.xb = narrow(t * rows_);
      d.yb = narrow((channel / machine_.rows - origin) * rows_);
      d.rot = narrow(channel % machine_.rows);
      d.gs = narrow(rows_);
      out.push_back(d);
    }
    const std::int64_t stored = g_groups(first, count) * rows_;
    store_all(out, kExactPhases, Buffer::kG, stored, outside_.take(stored));
  }

  // One tile of outputs: gradients of as many tiles of inputs as O holds, then their update.
  void weight_gradient(Program& out, std::int64_t n_tile) {
    const std::int64_t at_once = at_.update_rows / machine_.cols;
    for (std::int64_t first = 0; first < k_tiles_; first += at_once) {
      const std::int64_t count = std::min(at_once, k_tiles_ - first);
      std::vector<Stage> stages;
      const std::int64_t together = chunks_ > 1 ? 1 : std::max<std::int64_t>(1, at_.x_half / rows_);
      for (std::int64_t kt = 0; kt < count; kt += together) {
        for (chunk_ = 0; chunk_ < chunks_; ++chunk_) {
          Stage stage;
          const bool odd = stages.size() % 2 != 0;
          const std::int64_t x = odd ? at_.x_half : 0, number = std::min(together, count - kt);
          // One chunk: the outputs' gradients stay in G for all tiles.
          const std::int64_t g = chunks_ > 1 && odd ? at_.g_half : 0;
          if (chunks_ > 1 || kt == 0) {
            stage.loads.push_back(load_gradients(g, n_tile));
          }
          // Tiles of inputs lie one after the other, so that several are one transfer.
          stage.loads.push_back(load_inputs(kExactPhases, x, first + kt, number * rows_now()));
          for (std::int64_t t = 0; t < number; ++t) {
            Descriptor d = tile(kExactPhases, Mode::kDw, rows_now());
            d.clear = chunk_ == 0;
            d.drain = chunk_ + 1 == chunks_;
            d.xb = narrow(x + t * rows_);
            d.yb = narrow(g);
            d.wb = narrow(at_.update_first + (kt + t) * machine_.cols);
            stage.tiles.push_back(d);
          }
          stages.push_back(std::move(stage));
        }
      }
      emit(out, stages);
      chunk_ = 0;
      update(out, kExactPhases, VecKind::kSgd, count * machine_.cols, weight_row(n_tile, first));
    }
  }

  // Weights in full precision and velocities come in, move, and go out with the rounded weights.
  void update(Program& out, std::uint32_t mask, VecKind kind, std::int64_t rows, std::int64_t from,
              std::int64_t offset = 0) {
    const std::int64_t at = at_.update_first + offset;
    out.push_back(load(mask, Buffer::kP, at, rows, precise_ + from));
    out.push_back(load(mask, Buffer::kV, at, rows, velocities_ + from));
    Descriptor d = vec(mask, kind, rows, kAllEngines);
    d.xb = narrow(at);
    d.yb = narrow(kind == VecKind::kSgdPred ? at_.y_rows - kPredictedRows : 0);
    d.shift_a = 3;
    d.shift_b = 6;
    out.push_back(d);
    out.push_back(store(mask, Buffer::kP, at, rows, precise_ + from));
    out.push_back(store(mask, Buffer::kV, at, rows, velocities_ + from));
    out.push_back(store(mask, Buffer::kW, at, rows, weights_ + from));
  }

  // `count` channels from `first`, a whole number of tiles of both arrays.
  void predict_block(Program& out, std::int64_t first, std::int64_t count) {
    const std::int64_t tiles = pieces(count, machine_.pred_rows),
                       groups = pieces(count, machine_.rows);
    for (std::int64_t q = 0; q < tiles; ++q) {
      const std::int64_t pooled =
          at_.pooled(layer_.name, first / machine_.pred_rows + q, channel_tiles(), odd_);
      beside_product(out, cells(), kFeatures, 0, pooled, at_.hidden_in_memory);
      Descriptor d = vec(kPredictedPhase, VecKind::kFeature, kFeatures, kAllEngines);
      d.psrc = d.relu = 1;
      d.xb = narrow(at_.hidden_features + q * at_.feature_rows);
      out.push_back(d);
    }
    const std::int64_t most =
        std::min<std::int64_t>(kPredictedRows, at_.update_rows / (groups + 1));
    for (std::int64_t j = 0; j < layer_.k; j += most) {
      const std::int64_t rows = std::min(most, layer_.k - j);
      for (std::int64_t q = 0; q < tiles; ++q) {
        beside_product(out, kFeatures, rows, j, at_.hidden_features + q * at_.feature_rows,
                       at_.final_in_memory);
        const std::int64_t channel = q * machine_.pred_rows;
        Descriptor d = vec(kPredictedPhase, VecKind::kGradient, rows, kAllEngines);
        d.xb = narrow(at_.update_first + channel / machine_.rows * rows);
        d.rot = narrow(channel % machine_.rows);
        d.gs = narrow(rows);
        out.push_back(d);
      }
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t tile_rows = k_tiles_ * machine_.cols;
        update(out, kPredictedPhase, VecKind::kSgd, rows,
               (first / machine_.rows + g) * tile_rows + j, g * rows);
      }
    }
  }

  void beside_product(Program& out, std::int64_t inputs, std::int64_t outputs, std::int64_t first,
                      std::int64_t features, PredictorPlace place) {
    for (std::int64_t kt = 0; kt < pieces(inputs, machine_.pred_cols); ++kt) {
      Descriptor d = tile(kPredictedPhase, Mode::kForward, outputs);
      d.op = static_cast<std::uint32_t>(Op::kPtile);
      // The main array and the DMA go on with the next layer.
      d.wait = kAllEngines & ~bit(Engine::kMain) & ~bit(Engine::kDma);
      d.load_w = 1;
      d.acc_in = kt > 0;
      d.xb = narrow(place.first + kt * place.stride + first);
      d.wb = narrow(features + kt * machine_.pred_cols);
      out.push_back(d);
    }
  }

  const Machine& machine_;
  const Memories& at_;
  const Network& network_;
  const LayerProduct& layer_;
  bool odd_;  // layers take turns in the memory of pooled outputs
  Outside& outside_;
  std::int64_t k_tiles_, n_tiles_, rows_, chunks_;
  std::int64_t inputs_, gradients_, weights_ = 0, precise_ = 0,
                                    velocities_ = 0;  // outside, in beats
  std::int64_t group_ = 0, chunk_ = 0;                // at hand
};

// One descriptor of the second program after each tile of the first. Weights that it stores leave W
// by the port through which tiles load theirs: the next tile waits for the transfer.
void merge(Program& out, const Program& main, const Program& beside) {
  size_t next = 0;
  bool stores_weights = false;
  for (Descriptor d : main) {
    const bool tile = static_cast<Op>(d.op) == Op::kTile;
    if (tile && stores_weights) d.wait |= bit(Engine::kDma);
    out.push_back(d);
    if (!tile) continue;
    stores_weights = false;
    if (next == beside.size()) continue;
    const Descriptor& other = beside[next++];
    stores_weights = static_cast<Op>(other.op) == Op::kDma && other.store != 0 &&
                     static_cast<Buffer>(other.kind) == Buffer::kW;
    out.push_back(other);
  }
  out.insert(out.end(), beside.begin() + static_cast<std::ptrdiff_t>(next), beside.end());
}

}  // namespace

NetworkProgram make_program(const Machine& machine, const Network& network) {
  check(machine);
  if (network.layers.empty()) throw UsageError("rtl: the network has no layer with weights");
  Outside outside;
  const Memories memories(machine, network, outside);
  std::vector<LayerProgram> layers;
  for (size_t l = 0; l < network.layers.size(); ++l) {
    layers.emplace_back(machine, memories, network, l, outside);
  }
  NetworkProgram made;
  Program& out = made.program;
  Program beside;  // the predictor's work on the layer before
  for (LayerProgram& layer : layers) {
    merge(out, layer.forward(), beside);
    beside = machine.has_predictor_array() ? layer.beside() : Program{};
    made.forward_end.push_back(out.size());
  }
  out.insert(out.end(), beside.begin(), beside.end());
  // A GP batch is over here, and need not pass over the descriptors of the backward pass.
  out.push_back(descriptor(Op::kEnd, kPredictedPhase, 0));
  made.forward_end.back() = out.size();
  made.backward_end.resize(layers.size());
  for (size_t l = layers.size(); l-- > 0;) {
    const Program part = layers[l].backward();
    out.insert(out.end(), part.begin(), part.end());
    made.backward_end[l] = out.size();
  }
  // What the predictor learned outside comes back to its memory.
  if (machine.has_predictor_memory()) {
    for (std::int64_t row = 0; row < memories.predictor_rows; row += kLargestTransfer) {
      const std::int64_t rows =
          std::min<std::int64_t>(kLargestTransfer, memories.predictor_rows - row);
      out.push_back(load(kExactPhases, Buffer::kPx, row, rows, memories.predictor_outside + row));
    }
  }
  out.push_back(descriptor(Op::kEnd, kEveryPhase, 0));
  made.backward_end[0] = out.size();
  made.outside_beats = outside.size();
  const size_t room = size_t{1} << machine.descriptor_bits;
  if (out.size() > room) {
    throw UsageError(core::cat("rtl: the program of ", network.name, " has ", out.size(),
                               " descriptors, and the program memory holds ", room,
                               " (rtl.descriptor_bits, up to 20)"));
  }
  if (outside.size() > std::int64_t{0xffffffff}) {
    throw UsageError(core::cat("rtl: the tensors of ", network.name, " need ", outside.size(),
                               " rows of the outside memory, which has 2^32; use a smaller batch "
                               "or larger memories (rtl.x_bits, rtl.y_bits)"));
  }
  check(machine, out);
  for (const Descriptor& d : out) encode(d);  // or a field is too narrow
  return made;
}

LayerCycles layer_cycles(const Machine& machine, const NetworkProgram& program, Phase phase) {
  std::uint64_t before = 0;
  const auto part = [&](size_t end) {
    const Program begun(program.program.begin(),
                        program.program.begin() + static_cast<std::ptrdiff_t>(end));
    const std::uint64_t now = predict_batch(machine, begun, phase).cycles;
    return now - std::exchange(before, now);
  };
  LayerCycles out;
  for (const size_t end : program.forward_end) out.forward.push_back(part(end));
  out.backward.resize(program.backward_end.size());
  for (size_t l = program.backward_end.size(); l-- > 0;) {
    out.backward[l] = part(program.backward_end[l]);
  }
  return out;
}

}  // namespace adagp::rtl
