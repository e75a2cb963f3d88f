#pragma once
// Arrays of processing elements, moved cycle by cycle with real numbers in them: slow, and knowing
// nothing of the closed forms. Every clock, each PE sees what its neighbours held before.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace adagp::test {

using Matrix = std::vector<std::vector<double>>;

inline Matrix zeros(int64_t rows, int64_t columns) {
  return Matrix(static_cast<size_t>(rows), std::vector<double>(static_cast<size_t>(columns)));
}

// Reads outside are the zeros an unused PE or a pause in the stream holds.
inline double entry(const Matrix& m, int64_t i, int64_t j) {
  const bool inside = i >= 0 && j >= 0 && i < static_cast<int64_t>(m.size()) &&
                      j < static_cast<int64_t>(m[0].size());
  return inside ? m[static_cast<size_t>(i)][static_cast<size_t>(j)] : 0;
}

inline Matrix transposed(const Matrix& m) {
  Matrix out = zeros(static_cast<int64_t>(m[0].size()), static_cast<int64_t>(m.size()));
  for (size_t i = 0; i < m.size(); ++i) {
    for (size_t j = 0; j < m[0].size(); ++j) out[j][i] = m[i][j];
  }
  return out;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out = zeros(static_cast<int64_t>(a.size()), static_cast<int64_t>(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b[0].size(); ++j) {
      for (size_t k = 0; k < b.size(); ++k) out[i][j] += a[i][k] * b[k][j];
    }
  }
  return out;
}

struct Run {
  Matrix out;
  int64_t cycles = 0;
};

// H x W PEs: one stationary number each, one that moves right and one that moves down.
class Grid {
 public:
  Grid(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), kept(zeros(rows, columns)), right(kept), down(kept) {}

  // A clock in which weights move down one row; `edge(c)` enters at the top.
  void load(const std::function<double(int64_t)>& edge) {
    for (int64_t r = rows_ - 1; r >= 0; --r) {
      for (int64_t c = 0; c < columns_; ++c) at(kept, r, c) = r > 0 ? at(kept, r - 1, c) : edge(c);
    }
    ++cycles;
  }

  // A clock of computation: `step` gets what arrives from the left and from above.
  void clock(const std::function<double(int64_t)>& left, const std::function<double(int64_t)>& top,
             const std::function<void(int64_t, int64_t, double, double)>& step) {
    const Matrix old_right = right, old_down = down;
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < columns_; ++c) {
        step(r, c, c > 0 ? entry(old_right, r, c - 1) : left(r),
             r > 0 ? entry(old_down, r - 1, c) : top(c));
      }
    }
    ++cycles;
  }

  static double& at(Matrix& m, int64_t r, int64_t c) {
    return m[static_cast<size_t>(r)][static_cast<size_t>(c)];
  }

 private:
  int64_t rows_, columns_;

 public:
  Matrix kept, right, down;
  int64_t cycles = 0;
};

// One fold: `stationary` (at most H x W) is loaded, `stream` [T, H] enters at the left, row r of it
// r clocks late; sums move down and are collected below, [T, W].
inline void stationary_fold(Grid& grid, int64_t h, int64_t w, const Matrix& stationary,
                            const Matrix& stream, Matrix& out) {
  for (int64_t i = h - 1; i >= 0; --i) {
    grid.load([&](int64_t c) { return entry(stationary, i, c); });
  }
  const auto steps = static_cast<int64_t>(stream.size());
  grid.right = grid.down = zeros(h, w);
  int64_t collected = 0;
  for (int64_t t = 0; collected < steps * w; ++t) {
    grid.clock([&](int64_t r) { return entry(stream, t - r, r); }, [](int64_t) { return 0.0; },
               [&](int64_t r, int64_t c, double left, double above) {
                 Grid::at(grid.right, r, c) = left;
                 Grid::at(grid.down, r, c) = above + left * Grid::at(grid.kept, r, c);
               });
    for (int64_t c = 0; c < w; ++c) {
      const int64_t row = t - (h - 1) - c;
      if (row < 0 || row >= steps) continue;
      ++collected;
      Grid::at(out, row, c) += Grid::at(grid.down, h - 1, c);
    }
  }
}

inline Matrix tile(const Matrix& m, int64_t i, int64_t j, int64_t rows, int64_t columns) {
  Matrix out = zeros(rows, columns);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) Grid::at(out, r, c) = entry(m, i + r, j + c);
  }
  return out;
}

inline void paste(const Matrix& piece, int64_t i, int64_t j, Matrix& out) {
  for (size_t r = 0; r < piece.size(); ++r) {
    for (size_t c = 0; c < piece[0].size(); ++c) {
      const size_t y = static_cast<size_t>(i) + r, x = static_cast<size_t>(j) + c;
      if (y < out.size() && x < out[0].size()) out[y][x] += piece[r][c];
    }
  }
}

// X [M, K] times W [K, N] with W in the array, fold after fold.
inline Run weight_stationary(const Matrix& x, const Matrix& w, int64_t rows, int64_t columns) {
  const auto m = static_cast<int64_t>(x.size()), k = static_cast<int64_t>(w.size()),
             n = static_cast<int64_t>(w[0].size());
  Grid grid(rows, columns);
  Run run{zeros(m, n), 0};
  for (int64_t i = 0; i < k; i += rows) {
    for (int64_t j = 0; j < n; j += columns) {
      Matrix sums = zeros(m, columns);
      stationary_fold(grid, rows, columns, tile(w, i, j, rows, columns), tile(x, 0, i, m, rows),
                      sums);
      paste(sums, 0, j, run.out);
    }
  }
  run.cycles = grid.cycles;
  return run;
}

// The same machine with the operands' roles exchanged: X^T in the array, W^T streams.
inline Run input_stationary(const Matrix& x, const Matrix& w, int64_t rows, int64_t columns) {
  Run run = weight_stationary(transposed(w), transposed(x), rows, columns);
  run.out = transposed(run.out);
  return run;
}

// Both operands move, sums stay.
inline Run output_stationary(const Matrix& x, const Matrix& w, int64_t rows, int64_t columns) {
  const auto m = static_cast<int64_t>(x.size()), k = static_cast<int64_t>(w.size()),
             n = static_cast<int64_t>(w[0].size());
  Run run{zeros(m, n), 0};
  for (int64_t i = 0; i < m; i += rows) {
    for (int64_t j = 0; j < n; j += columns) {
      Grid grid(rows, columns);
      Matrix worked = zeros(rows, columns);  // MACs of each PE; the fold ends when all have K
      const auto done = [&] {
        return std::all_of(worked.begin(), worked.end(), [&](const auto& line) {
          return std::all_of(line.begin(), line.end(),
                             [&](double count) { return count == static_cast<double>(k); });
        });
      };
      for (int64_t t = 0; !done(); ++t) {
        grid.clock([&](int64_t r) { return entry(x, i + r, t - r); },
                   [&](int64_t c) { return entry(w, t - c, j + c); },
                   [&](int64_t r, int64_t c, double left, double above) {
                     Grid::at(grid.right, r, c) = left;
                     Grid::at(grid.down, r, c) = above;
                     Grid::at(grid.kept, r, c) += left * above;
                     if (t >= r + c && t < r + c + k) Grid::at(worked, r, c) += 1;
                   });
      }
      paste(grid.kept, i, j, run.out);
      run.cycles += grid.cycles;
    }
  }
  return run;
}

}  // namespace adagp::test
