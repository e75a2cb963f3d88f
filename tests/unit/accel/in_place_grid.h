#pragma once
// One array for the three products of a layer. PE (r, c) holds W[c][r] of every fold: N along the
// rows, counted from the bottom, K along the columns.

#include "unit/accel/pe_grid.h"

namespace adagp::test {

class InPlaceArray {
 public:
  // `registers`: weights a PE keeps, those of the last folds; 0: of all folds.
  InPlaceArray(int64_t rows, int64_t columns, size_t registers = 0)
      : rows_(rows), columns_(columns), registers_(registers) {}

  // Y = X W: weights are loaded, X enters at the bottom, sums move right.
  Run forward(const Matrix& x, const Matrix& w) {
    const auto m = static_cast<int64_t>(x.size());
    k_ = static_cast<int64_t>(w.size());
    n_ = static_cast<int64_t>(w[0].size());
    weights_.clear();
    in_memory_ = w;
    Run run{zeros(m, n_), 0};
    each_fold([&](int64_t i, int64_t j) {
      const Matrix kept = load(i, j, run);
      weights_.push_back(kept);
      // The oldest weight makes room.
      if (registers_ > 0 && weights_.size() > registers_) {
        weights_[weights_.size() - 1 - registers_].clear();
      }
      // up: x of column c enters c clocks late; right: sums of row r.
      Matrix up = zeros(rows_, columns_), right = up;
      int64_t collected = 0;
      for (int64_t t = 0; collected < m * rows_; ++t, ++run.cycles) {
        const Matrix old_up = up, old_right = right;
        for (int64_t r = 0; r < rows_; ++r) {
          for (int64_t c = 0; c < columns_; ++c) {
            const double below = r > 0 ? entry(old_up, r - 1, c) : entry(x, t - c, j + c);
            Grid::at(up, r, c) = below;
            Grid::at(right, r, c) = entry(old_right, r, c - 1) + below * entry(kept, r, c);
          }
        }
        for (int64_t r = 0; r < rows_; ++r) {
          const int64_t row = t - (columns_ - 1) - r;
          if (row < 0 || row >= m) continue;
          ++collected;
          if (i + r < n_) Grid::at(run.out, row, i + r) += entry(right, r, columns_ - 1);
        }
      }
    });
    return run;
  }

  // dX = dY W^T: the weights of the forward pass are still there, dY enters at the left, sums move
  // up.
  Run input_gradient(const Matrix& dy) {
    const auto m = static_cast<int64_t>(dy.size());
    Run run{zeros(m, k_), 0};
    size_t fold = 0;
    each_fold([&](int64_t i, int64_t j) {
      const Matrix& register_of_pes = weights_.at(fold++);
      const Matrix kept = register_of_pes.empty() ? load(i, j, run) : register_of_pes;
      Matrix up = zeros(rows_, columns_), right = up;
      int64_t collected = 0;
      for (int64_t t = 0; collected < m * columns_; ++t, ++run.cycles) {
        const Matrix old_up = up, old_right = right;
        for (int64_t r = 0; r < rows_; ++r) {
          for (int64_t c = 0; c < columns_; ++c) {
            const double left = c > 0 ? entry(old_right, r, c - 1) : entry(dy, t - r, i + r);
            Grid::at(right, r, c) = left;
            Grid::at(up, r, c) = entry(old_up, r - 1, c) + left * entry(kept, r, c);
          }
        }
        for (int64_t c = 0; c < columns_; ++c) {
          const int64_t row = t - (rows_ - 1) - c;
          if (row < 0 || row >= m) continue;
          ++collected;
          if (j + c < k_) Grid::at(run.out, row, j + c) += entry(up, rows_ - 1, c);
        }
      }
    });
    return run;
  }

  // dW = X^T dY: X from the bottom and dY from the left meet in accumulators.
  Run weight_gradient(const Matrix& x, const Matrix& dy) const {
    const auto m = static_cast<int64_t>(x.size());
    Run run{zeros(k_, n_), 0};
    each_fold([&](int64_t i, int64_t j) {
      Matrix up = zeros(rows_, columns_), right = up, sums = up;
      int64_t worked = 0;
      for (int64_t t = 0; worked < m * rows_ * columns_; ++t, ++run.cycles) {
        const Matrix old_up = up, old_right = right;
        for (int64_t r = 0; r < rows_; ++r) {
          for (int64_t c = 0; c < columns_; ++c) {
            Grid::at(up, r, c) = r > 0 ? entry(old_up, r - 1, c) : entry(x, t - c, j + c);
            Grid::at(right, r, c) = c > 0 ? entry(old_right, r, c - 1) : entry(dy, t - r, i + r);
            Grid::at(sums, r, c) += entry(up, r, c) * entry(right, r, c);
            worked += t >= r + c && t < r + c + m ? 1 : 0;
          }
        }
      }
      paste(transposed(sums), j, i, run.out);
    });
    return run;
  }

 private:
  // Rows enter one per clock and move on; after H clocks each is in its place.
  Matrix load(int64_t i, int64_t j, Run& run) const {
    Matrix kept = zeros(rows_, columns_);
    for (int64_t t = 0; t < rows_; ++t, ++run.cycles) {
      kept.insert(kept.begin(), std::vector<double>(static_cast<size_t>(columns_)));
      kept.pop_back();
      for (int64_t c = 0; c < columns_; ++c) {
        Grid::at(kept, 0, c) = entry(in_memory_, j + c, i + rows_ - 1 - t);
      }
    }
    return kept;
  }

  template <typename Body>
  void each_fold(const Body& body) const {
    for (int64_t i = 0; i < n_; i += rows_) {
      for (int64_t j = 0; j < k_; j += columns_) body(i, j);
    }
  }

  int64_t rows_, columns_, k_ = 0, n_ = 0;
  size_t registers_;
  Matrix in_memory_;             // the weights
  std::vector<Matrix> weights_;  // in the PEs, by fold; empty: given up
};

}  // namespace adagp::test
