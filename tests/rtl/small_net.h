#pragma once
// A small network on the machine: where its tensors lie and the program of one training batch.
// Every layer is a convolution without gaps (a linear layer has a kernel as large as its input);
// the nested loops of a tile read the windows in place, so no im2col copy exists.

#include <vector>

#include "adagp/sim/rtl/descriptor.h"

namespace adagp::rtl {

struct LayerSize {
  int in_channels, out_channels, kernel, pad, in_size;
  int out_size() const { return in_size + 2 * pad - kernel + 1; }
};

// First rows of a layer's tensors in the memories.
struct LayerPlace {
  int groups;         // of COLS input channels
  int tiles;          // of ROWS output channels
  int padded;         // in_size + 2 pad
  int m;              // batch * out_size^2: rows of one tile
  int x, group_rows;  // X and D; rows of one group
  int y, g, w, tile_rows, bias;
};

class SmallNet {
 public:
  static constexpr std::uint32_t all_engines = 31;  // to wait for

  SmallNet(const Machine& machine, int batch, std::vector<LayerSize> sizes);

  // Weights from outside into P and W, V = 0, and the predictor's weights into its memory.
  Program setup() const;
  // One batch: BP descriptors have the masks bp and warm, GP descriptors gp. `overlap`: on design
  // max the predictor works on a layer while the main array computes the next one.
  Program batch(bool overlap) const;

  const Machine& machine() const { return machine_; }
  int batch_size() const { return batch_; }
  int layers() const { return static_cast<int>(sizes_.size()); }
  const LayerSize& size(int l) const { return sizes_[l]; }
  const LayerPlace& place(int l) const { return places_[l]; }
  int feature_rows() const { return pred_cols(); }
  int pred_cols() const {
    return machine_.has_predictor_array() ? machine_.pred_cols : machine_.cols;
  }

  // Outside memory, in beats.
  int image_at = 0, target_at = 0, weights_at = 0, zeros_at = 0, hidden_at = 0, final_at = 0,
      residual_at = 0, result_at = 0, beats = 0;
  int weight_rows = 0, final_rows = 0;

  // Shifts: what a product of activations and weights is divided by, and the update's.
  int data_shift, weight_shift, momentum_shift = 3, step_shift, bias_step_shift,
                                predicted_step_shift;
  int mean_shift = 4;

 private:
  Descriptor op(Op op, std::uint32_t mask, std::uint32_t wait) const;
  Descriptor walk(Op op, std::uint32_t mask, std::uint32_t wait, int l, int group, int ky,
                  int kx) const;
  Descriptor transfer(std::uint32_t mask, Buffer b, int row, int rows, int beat, bool store) const;
  void forward(Program& p, int l) const;
  void activate(Program& p, int l) const;
  void backward(Program& p, int l) const;
  void update(Program& p, int l) const;
  // In small_net_predict.cpp.
  Descriptor pool(int l, int t) const;
  Descriptor hidden(ReorgKind kind, int from, int to) const;
  void predict_on_main(Program& p, int l) const;
  Program predict_beside(int l) const;

  Machine machine_;
  int batch_;
  std::vector<LayerSize> sizes_;
  std::vector<LayerPlace> places_;
  int features_ = 0, hidden_features_ = 0;  // rows of W (or PW)
  int pred_x_ = 0, pred_y_ = 0;             // rows of X (low) and Y
};

}  // namespace adagp::rtl
