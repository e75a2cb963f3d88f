// The predictor's part of a batch.
#include <algorithm>

#include "small_net.h"

namespace adagp::rtl {
namespace {

constexpr std::uint32_t kAll = SmallNet::all_engines;
const std::uint32_t kPredicted = bit(Phase::kGp);

}  // namespace

// Of one tile of outputs: 2x2 means over the batch, in the rows of features.
Descriptor SmallNet::pool(int l, int t) const {
  const LayerPlace& at = places_[l];
  const int out = sizes_[l].out_size(), cells = 2, window = std::max(1, out / cells);
  const int next = out >= cells ? window : 0;  // one pixel fills every cell
  Descriptor d = op(Op::kReorg, kPredicted, kAll);
  d.kind = static_cast<std::uint32_t>(ReorgKind::kYToW);
  d.n0 = d.n1 = window;
  d.n2 = batch_;
  d.s0 = 1;
  d.s1 = out;
  d.s2 = out * out;
  d.xb = next;
  d.s3 = next * out;
  d.addr = cells | cells << 16;
  d.yb = at.y + t * at.m;
  d.wb = features_;
  d.shift_a = mean_shift + data_shift;
  return d;
}

// The hidden layer's ReLU: windows of one row.
Descriptor SmallNet::hidden(ReorgKind kind, int from, int to) const {
  Descriptor d = op(Op::kReorg, kPredicted, kAll);
  d.kind = static_cast<std::uint32_t>(kind);
  d.relu = 1;
  d.xb = 1;
  d.addr = static_cast<std::uint32_t>(feature_rows()) | 1 << 16;
  d.yb = from;
  d.wb = to;
  d.shift_a = data_shift;
  return d;
}

// low, efficient: pool -> hidden layer with ReLU -> gradient, tile by tile on the main array.
void SmallNet::predict_on_main(Program& p, int l) const {
  const LayerPlace& at = places_[l];
  const bool low = machine_.design == Design::kLow;
  const int x = low ? pred_x_ : 0;
  if (low) {
    p.push_back(transfer(kPredicted, Buffer::kX, x, feature_rows(), hidden_at, false));
    p.push_back(
        transfer(kPredicted, Buffer::kX, x + feature_rows(), at.tile_rows, final_at, false));
  }
  for (int t = 0; t < at.tiles; ++t) {
    p.push_back(pool(l, t));
    for (const bool last : {false, true}) {
      Descriptor tile = op(Op::kTile, kPredicted, kAll);
      tile.load_w = 1;
      tile.psrc = !low;
      tile.n0 = last ? at.tile_rows : feature_rows();
      tile.s0 = 1;
      tile.xb = x + (last ? feature_rows() : 0);
      tile.yb = pred_y_;
      tile.wb = last ? hidden_features_ : features_;
      p.push_back(tile);
      if (!last) {
        p.push_back(hidden(ReorgKind::kYToW, pred_y_, hidden_features_));
        continue;
      }
      Descriptor v = op(Op::kVec, kPredicted, kAll);
      v.n0 = tile.n0;
      v.s0 = 1;
      v.yb = pred_y_;
      v.kind = static_cast<std::uint32_t>(VecKind::kSgdPred);
      v.xb = at.w + t * at.tile_rows;
      v.shift_a = momentum_shift;
      v.shift_b = predicted_step_shift;
      v.rot = weight_shift;
      p.push_back(v);
    }
  }
}

// max: the same on the predictor array, whose tiles are PROWS channels wide.
Program SmallNet::predict_beside(int l) const {
  const LayerPlace& at = places_[l];
  const std::uint32_t other = kAll & ~bit(Engine::kMain);
  Program p;
  for (int t = 0; t < at.tiles; ++t) {
    const int channel = t * machine_.rows;
    Descriptor d = pool(l, t);
    d.psrc = 1;
    d.wb = features_ + channel / machine_.pred_rows * feature_rows();
    d.rot = channel % machine_.pred_rows;
    d.gs = feature_rows();
    p.push_back(d);
  }
  const int channels = at.tiles * machine_.rows;
  for (int q = 0; q * machine_.pred_rows < channels; ++q) {
    for (const bool last : {false, true}) {
      Descriptor tile = op(Op::kPtile, kPredicted, other);
      tile.load_w = 1;
      tile.n0 = last ? at.tile_rows : feature_rows();
      tile.s0 = 1;
      tile.xb = last ? feature_rows() : 0;
      tile.wb = (last ? hidden_features_ : features_) + q * feature_rows();
      p.push_back(tile);
      if (!last) {
        p.push_back(hidden(ReorgKind::kPyToPw, 0, hidden_features_ + q * feature_rows()));
        p.back().wait = other;
        continue;
      }
      Descriptor v = op(Op::kVec, kPredicted, other);
      v.n0 = tile.n0;
      v.s0 = 1;
      const int channel = q * machine_.pred_rows;
      v.kind = static_cast<std::uint32_t>(VecKind::kGradient);
      v.xb = at.w + channel / machine_.rows * at.tile_rows;
      v.rot = channel % machine_.rows;
      v.gs = at.tile_rows;
      p.push_back(v);
    }
  }
  Descriptor v = op(Op::kVec, kPredicted, other);
  v.kind = static_cast<std::uint32_t>(VecKind::kSgd);
  v.n0 = at.tiles * at.tile_rows;
  v.s0 = 1;
  v.xb = at.w;
  v.shift_a = momentum_shift;
  v.shift_b = predicted_step_shift;
  v.rot = weight_shift;
  p.push_back(v);
  return p;
}

}  // namespace adagp::rtl
