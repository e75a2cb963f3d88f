#include "small_net.h"

#include <algorithm>
#include <utility>

namespace adagp::rtl {
namespace {

constexpr std::uint32_t kAll = SmallNet::all_engines;
const std::uint32_t kExact = bit(Phase::kBp) | bit(Phase::kWarm);

int divide_up(int a, int b) {
  return (a + b - 1) / b;
}

}  // namespace

SmallNet::SmallNet(const Machine& machine, int batch, std::vector<LayerSize> sizes)
    : machine_(machine), batch_(batch), sizes_(std::move(sizes)) {
  const int rows = machine.rows, cols = machine.cols;
  const bool fixed = machine.format == Format::kFixed;
  // Fixed: data and weights have 8 bits behind the point, sums and P 16.
  data_shift = weight_shift = fixed ? 8 : 0;
  step_shift = 6;
  bias_step_shift = fixed ? 0 : 6;  // a sum of gradients has 8 bits behind the point, P 16
  predicted_step_shift = 8;
  int x = 0, y = 0, g = 0, w = 0;
  for (const LayerSize& s : sizes_) {
    LayerPlace p{};
    const int channels = places_.empty() ? s.in_channels : places_.back().tiles * rows;
    p.groups = divide_up(channels, cols);
    p.tiles = divide_up(s.out_channels, rows);
    p.padded = s.in_size + 2 * s.pad;
    p.group_rows = batch * p.padded * p.padded;
    p.m = batch * s.out_size() * s.out_size();
    p.x = x;
    p.y = y;
    p.g = g;
    p.w = w;
    p.tile_rows = p.groups * s.kernel * s.kernel * cols;
    p.bias = w + p.tiles * p.tile_rows;
    x += p.groups * p.group_rows;
    y += p.tiles * p.m;
    g += (p.tiles + divide_up(cols, rows)) * p.m;  // regrouped rows may reach one group further
    w = p.bias + p.tiles;
    final_rows = std::max(final_rows, p.tile_rows);
    places_.push_back(p);
  }
  weight_rows = w;
  pred_x_ = x;
  pred_y_ = y;
  features_ = machine.has_predictor_array() ? 0 : w;
  const int pred_tiles = 1 + divide_up((places_[0].tiles + 1) * rows, machine.pred_rows);
  hidden_features_ = features_ + feature_rows() * (machine.has_predictor_array() ? pred_tiles : 1);

  int at = 0;
  const auto take = [&](int count) { return std::exchange(at, at + count); };
  image_at = take(places_[0].groups * places_[0].group_rows);
  target_at = take(places_.back().tiles * places_.back().m);
  weights_at = take(weight_rows);
  zeros_at = take(std::max(weight_rows, 2 * hidden_features_ + 1));
  hidden_at = take(feature_rows());
  final_at = take(final_rows);
  residual_at = take(places_.back().tiles * places_.back().m);
  result_at = take(3 * weight_rows);
  beats = at;
}

Descriptor SmallNet::op(Op op, std::uint32_t mask, std::uint32_t wait) const {
  Descriptor d;
  d.op = static_cast<std::uint32_t>(op);
  d.mask = mask;
  d.wait = wait;
  d.n0 = d.n1 = d.n2 = 1;
  return d;
}

// The windows of layer l at one place of the kernel; places 0..out_size are rows of X, D.
Descriptor SmallNet::walk(Op o, std::uint32_t mask, std::uint32_t wait, int l, int group, int ky,
                          int kx) const {
  const LayerPlace& p = places_[l];
  Descriptor d = op(o, mask, wait);
  d.n0 = d.n1 = sizes_[l].out_size();
  d.n2 = batch_;
  d.s0 = 1;
  d.s1 = p.padded;
  d.s2 = p.padded * p.padded;
  d.xb = p.x + group * p.group_rows + ky * p.padded + kx;
  return d;
}

Descriptor SmallNet::transfer(std::uint32_t mask, Buffer b, int row, int rows, int beat,
                              bool store) const {
  Descriptor d = op(Op::kDma, mask, kAll);
  d.kind = static_cast<std::uint32_t>(b);
  d.n0 = rows;
  d.n1 = d.n2 = 0;
  d.xb = row;
  d.addr = beat;
  d.store = store;
  return d;
}

Program SmallNet::setup() const {
  Program p;
  for (const Buffer b : {Buffer::kP, Buffer::kV, Buffer::kO})
    p.push_back(
        transfer(kEveryPhase, b, 0, weight_rows, b == Buffer::kP ? weights_at : zeros_at, false));
  // Lanes and halos that nothing writes must be 0.
  for (int row = 0; row < pred_x_; row += weight_rows)
    p.push_back(transfer(kEveryPhase, Buffer::kX, row, std::min(weight_rows, pred_x_ - row),
                         zeros_at, false));
  // An update with gradients and velocities of 0 copies P to W.
  Descriptor copy = op(Op::kVec, kEveryPhase, kAll);
  copy.kind = static_cast<std::uint32_t>(VecKind::kSgd);
  copy.n0 = weight_rows;
  copy.s0 = 1;
  copy.rot = weight_shift;
  p.push_back(copy);
  if (machine_.has_predictor()) {
    const bool own = machine_.has_predictor_array();
    p.push_back(transfer(kEveryPhase, own ? Buffer::kPw : Buffer::kW, features_,
                         2 * (hidden_features_ - features_), zeros_at, false));
  }
  if (machine_.has_predictor_memory()) {
    p.push_back(transfer(kEveryPhase, Buffer::kPx, 0, feature_rows(), hidden_at, false));
    p.push_back(transfer(kEveryPhase, Buffer::kPx, feature_rows(), final_rows, final_at, false));
  }
  p.push_back(op(Op::kEnd, kEveryPhase, 0));
  return p;
}

void SmallNet::forward(Program& p, int l) const {
  const LayerPlace& at = places_[l];
  const int k = sizes_[l].kernel;
  const bool last = l + 1 == layers();
  for (int t = 0; t < at.tiles; ++t)
    for (int i = 0; i < at.groups * k * k; ++i) {
      Descriptor d = walk(Op::kTile, kEveryPhase, kAll & ~bit(Engine::kPred), l, i / (k * k),
                          i / k % k, i % k);
      d.load_w = 1;
      d.acc_in = last || i > 0;  // the last layer adds to minus the targets
      d.wb = at.w + t * at.tile_rows + i * machine_.cols;
      d.yb = at.y + t * at.m;
      p.push_back(d);
    }
}

// Y to the next layer's X, or, behind the last layer, to its own G: output minus target.
void SmallNet::activate(Program& p, int l) const {
  const LayerPlace& at = places_[l];
  const bool last = l + 1 == layers();
  for (int t = 0; t < at.tiles; ++t) {
    Descriptor d = op(Op::kVec, kEveryPhase, kAll & ~bit(Engine::kPred));
    d.kind = static_cast<std::uint32_t>(last ? VecKind::kOut : VecKind::kAct);
    d.bias = 1;
    d.wb = at.bias + t;
    d.yb = at.y + t * at.m;
    d.shift_a = data_shift;
    if (last) {
      d.n0 = at.m;
      d.s0 = 1;
      d.xb = at.g + t * at.m;
    } else {
      const LayerPlace& next = places_[l + 1];
      const int pad = sizes_[l + 1].pad, channel = t * machine_.rows;
      d.relu = 1;
      d.n0 = d.n1 = sizes_[l].out_size();
      d.n2 = batch_;
      d.s0 = 1;
      d.s1 = next.padded;
      d.s2 = next.padded * next.padded;
      d.xb = next.x + channel / machine_.cols * next.group_rows + pad * next.padded + pad;
      d.rot = channel % machine_.cols;
      d.gs = next.group_rows;
    }
    p.push_back(d);
  }
}

void SmallNet::backward(Program& p, int l) const {
  const LayerPlace& at = places_[l];
  const int k = sizes_[l].kernel;
  if (l > 0) {
    Descriptor d = op(Op::kVec, kExact, kAll);
    d.kind = static_cast<std::uint32_t>(VecKind::kClear);
    d.n0 = at.groups * at.group_rows;
    d.s0 = 1;
    d.xb = at.x;
    p.push_back(d);
  }
  for (int t = 0; t < at.tiles; ++t) {
    for (int i = 0; i < at.groups * k * k; ++i) {
      Descriptor d = walk(Op::kTile, kExact, kAll, l, i / (k * k), i / k % k, i % k);
      d.wb = at.w + t * at.tile_rows + i * machine_.cols;
      d.yb = at.g + t * at.m;
      if (l > 0) {
        d.mode = static_cast<std::uint32_t>(Mode::kDx);
        d.load_w = d.acc_in = 1;
        p.push_back(d);
      }
      d.mode = static_cast<std::uint32_t>(Mode::kDw);
      d.load_w = d.acc_in = 0;
      d.clear = d.drain = 1;
      p.push_back(d);
    }
    Descriptor d = op(Op::kReorg, kExact, kAll);
    d.kind = static_cast<std::uint32_t>(ReorgKind::kGToO);
    d.n0 = at.m;
    d.s0 = 1;
    d.yb = at.g + t * at.m;
    d.wb = at.bias + t;
    d.addr = 1 | 1 << 16;
    p.push_back(d);
  }
  for (int group = 0; l > 0 && group < at.groups; ++group) {
    const LayerPlace& before = places_[l - 1];
    const int channel = group * machine_.cols, pad = sizes_[l].pad;
    Descriptor d = op(Op::kVec, kExact, kAll);
    d.kind = static_cast<std::uint32_t>(VecKind::kBack);
    d.relu = 1;
    d.shift_a = data_shift;
    d.n0 = d.n1 = sizes_[l].in_size;
    d.n2 = batch_;
    d.s0 = 1;
    d.s1 = at.padded;
    d.s2 = at.padded * at.padded;
    d.xb = at.x + group * at.group_rows + pad * at.padded + pad;
    d.yb = before.g + channel / machine_.rows * before.m;
    d.rot = channel % machine_.rows;
    d.gs = before.m;
    p.push_back(d);
  }
  update(p, l);
}

void SmallNet::update(Program& p, int l) const {
  const LayerPlace& at = places_[l];
  for (const bool bias : {false, true}) {
    Descriptor d = op(Op::kVec, kExact, kAll);
    d.kind = static_cast<std::uint32_t>(VecKind::kSgd);
    d.n0 = bias ? at.tiles : at.tiles * at.tile_rows;
    d.s0 = 1;
    d.xb = bias ? at.bias : at.w;
    d.shift_a = momentum_shift;
    d.shift_b = bias ? bias_step_shift : step_shift;
    d.rot = weight_shift;
    p.push_back(d);
  }
}

Program SmallNet::batch(bool overlap) const {
  const int last = layers() - 1;
  Program p;
  p.push_back(transfer(kEveryPhase, Buffer::kX, places_[0].x,
                       places_[0].groups * places_[0].group_rows, image_at, false));
  p.push_back(transfer(kEveryPhase, Buffer::kY, places_[last].y,
                       places_[last].tiles * places_[last].m, target_at, false));
  Program beside;  // the predictor's work on the layer before
  for (int l = 0; l <= last; ++l) {
    Program tiles;
    forward(tiles, l);
    // The pools come first, since they read Y while no tile adds to it.
    std::size_t next = 0;
    while (next < beside.size() && static_cast<Op>(beside[next].op) == Op::kReorg)
      p.push_back(beside[next++]);
    for (const Descriptor& tile : tiles) {
      p.push_back(tile);
      // A tile has to wait for the next layer's inputs only, which are there by now.
      if (overlap && machine_.has_predictor_array() && l > 0 && &tile != &tiles.front())
        p.back().wait &= ~bit(Engine::kVec);
      if (overlap && next < beside.size()) p.push_back(beside[next++]);
    }
    while (next < beside.size()) p.push_back(beside[next++]);
    beside.clear();
    activate(p, l);
    if (machine_.has_predictor_array()) {
      beside = predict_beside(l);
    } else if (machine_.has_predictor()) {
      predict_on_main(p, l);
    }
  }
  p.insert(p.end(), beside.begin(), beside.end());
  p.push_back(transfer(kEveryPhase, Buffer::kG, places_[last].g,
                       places_[last].tiles * places_[last].m, residual_at, true));
  for (int l = last; l >= 0; --l) backward(p, l);
  int at = result_at;
  for (const Buffer b : {Buffer::kP, Buffer::kV, Buffer::kW}) {
    p.push_back(transfer(kEveryPhase, b, 0, weight_rows, at, true));
    at += weight_rows;
  }
  p.push_back(op(Op::kEnd, kEveryPhase, 0));
  return p;
}

}  // namespace adagp::rtl
