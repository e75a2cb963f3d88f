// Do the closed forms count the cycles that an array of real PEs takes, and is its result right?
#include <gtest/gtest.h>

#include "adagp/base/core/rng.h"
#include "adagp/sim/accel/dataflow/dataflow.h"
#include "unit/accel/in_place_grid.h"
#include "unit/accel/networks.h"
#include "unit/accel/row_grid.h"

namespace adagp::accel {
namespace {

using test::Matrix;

Matrix random_matrix(int64_t rows, int64_t columns, core::Rng& rng) {
  Matrix out = test::zeros(rows, columns);
  for (auto& row : out) {
    for (double& value : row) value = static_cast<double>(rng.below(19) - 9);  // exact in a double
  }
  return out;
}

struct Case {
  Array array;
  int64_t m, k, n;
};

// Sizes below, at and above the array's, and odd ones.
std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {2, 2}, {3, 5}, {4, 3}}) {
    Array array;
    array.rows = rows;
    array.columns = columns;
    for (const int64_t m : {1, 3, 7}) {
      for (const int64_t k : {1, 4, 9}) {
        for (const int64_t n : {1, 5, 6}) out.push_back({array, m, k, n});
      }
    }
  }
  return out;
}

using Machine = test::Run (*)(const Matrix&, const Matrix&, int64_t, int64_t);

void expect_equal(const Dataflow& dataflow, Machine machine) {
  core::Rng rng(7);
  for (const Case& c : cases()) {
    const Matrix x = random_matrix(c.m, c.k, rng), w = random_matrix(c.k, c.n, rng);
    const test::Run run = machine(x, w, c.array.rows, c.array.columns);
    const ArrayCost cost = dataflow.cost(gemm_work({c.m, c.k, c.n}), c.array);
    EXPECT_EQ(run.out, test::product(x, w));
    EXPECT_EQ(cost.cycles, run.cycles) << dataflow.name << " " << c.array.rows << "x"
                                       << c.array.columns << " " << c.m << "," << c.k << "," << c.n;
  }
}

TEST(PeGrid, WeightStationary) {
  expect_equal(kWeightStationary, test::weight_stationary);
}
TEST(PeGrid, InputStationary) {
  expect_equal(kInputStationary, test::input_stationary);
}
TEST(PeGrid, OutputStationary) {
  expect_equal(kOutputStationary, test::output_stationary);
}

int64_t in_place_cycles(const Gemm& gemm, Pass pass, const Array& array) {
  return kInPlaceTransposed.cost(gemm_work(gemm, pass), array).cycles;
}

TEST(PeGrid, InPlaceTransposedServesAllThreeProducts) {
  core::Rng rng(11);
  for (const Case& c : cases()) {
    const Matrix x = random_matrix(c.m, c.k, rng), w = random_matrix(c.k, c.n, rng),
                 dy = random_matrix(c.m, c.n, rng);
    test::InPlaceArray array(c.array.rows, c.array.columns);
    const test::Run y = array.forward(x, w);
    const test::Run dx = array.input_gradient(dy);
    const test::Run dw = array.weight_gradient(x, dy);
    EXPECT_EQ(y.out, test::product(x, w));
    EXPECT_EQ(dx.out, test::product(dy, test::transposed(w)));
    EXPECT_EQ(dw.out, test::product(test::transposed(x), dy));
    EXPECT_EQ(in_place_cycles({c.m, c.k, c.n}, Pass::kForward, c.array), y.cycles);
    EXPECT_EQ(in_place_cycles({c.m, c.n, c.k}, Pass::kInputGradient, c.array), dx.cycles);
    EXPECT_EQ(in_place_cycles({c.k, c.m, c.n}, Pass::kWeightGradient, c.array), dw.cycles);
  }
}

TEST(PeGrid, InPlaceTransposedLectureExample) {
  const Matrix x = {{1, 4}, {5, 2}}, w = {{2, 3}, {0, 1}}, dy = {{3, 4}, {1, 2}};
  test::InPlaceArray array(2, 2);
  EXPECT_EQ(array.forward(x, w).out, (Matrix{{2, 7}, {10, 17}}));
  EXPECT_EQ(array.input_gradient(dy).out, (Matrix{{18, 4}, {8, 2}}));
  EXPECT_EQ(array.weight_gradient(x, dy).out, (Matrix{{8, 14}, {14, 20}}));
}

// ---- row stationary, on a small convolution and its gradients

struct Layer {
  layers::Row row;
  int64_t batch;

  int64_t in_side() const { return row.input[1]; }
  int64_t out_side() const { return row.output[1]; }
  int64_t pad() const { return row.padding[0]; }
  int64_t k() const { return row.kernel[0]; }
};

// Numbers that depend on the index alone; zero outside the tensor.
test::Tensor4 tensor(int64_t side, uint64_t seed) {
  return [=](int64_t a, int64_t b, int64_t y, int64_t x) {
    if (y < 0 || x < 0 || y >= side || x >= side) return 0.0;
    const auto u = [](int64_t v) { return static_cast<uint64_t>(v); };
    return static_cast<double>(core::mix({seed, u(a), u(b), u(y), u(x)}) % 19) - 9;
  };
}

std::vector<Layer> small_layers() {
  return {{test::conv("3x3", 3, 7, 4, 3, 1, 1), 2},
          {test::conv("strided", 4, 9, 5, 3, 2, 1), 1},
          {test::conv("1x1", 6, 5, 7, 1, 1, 0), 2},
          {test::conv("tall", 2, 8, 3, 5, 1, 2), 1},
          {test::conv("wide", 2, 12, 2, 3, 1, 1), 1}};
}

std::vector<Array> small_arrays() {
  std::vector<Array> arrays;
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{2, 3}, {4, 4}, {6, 5}, {12, 14}, {7, 30}}) {
    Array array;
    array.rows = rows;
    array.columns = columns;
    arrays.push_back(array);
  }
  return arrays;
}

// sum over everything, straight from the definition: Y[b][m][e][f].
double direct(const Layer& l, const test::Tensor4& x, const test::Tensor4& w, int64_t b, int64_t m,
              int64_t e, int64_t f) {
  double sum = 0;
  for (int64_t c = 0; c < l.row.input[0]; ++c) {
    for (int64_t r = 0; r < l.k(); ++r) {
      for (int64_t s = 0; s < l.k(); ++s) {
        sum += w(m, c, r, s) *
               x(b, c, e * l.row.stride[0] + r - l.pad(), f * l.row.stride[0] + s - l.pad());
      }
    }
  }
  return sum;
}

TEST(PeGrid, RowStationaryForward) {
  for (const Layer& l : small_layers()) {
    const test::Tensor4 x = tensor(l.in_side(), 1), w = tensor(l.k(), 2);
    const int64_t pad = l.pad();
    const Work work = forward_work(l.row, l.batch);
    for (const Array& array : small_arrays()) {
      const auto run = test::row_stationary(
          work.conv, l.row.stride[0], array,
          [&](int64_t b, int64_t c, int64_t y, int64_t i) { return x(b, c, y - pad, i - pad); }, w);
      EXPECT_EQ(kRowStationary.cost(work, array).cycles, run.cycles) << l.row.name;
      size_t i = 0;
      for (int64_t b = 0; b < l.batch; ++b) {
        for (int64_t m = 0; m < l.row.output[0]; ++m) {
          for (int64_t e = 0; e < l.out_side(); ++e) {
            for (int64_t f = 0; f < l.out_side(); ++f) {
              ASSERT_EQ(run.out[i++], direct(l, x, w, b, m, e, f)) << l.row.name;
            }
          }
        }
      }
    }
  }
}

// dX[b][c][y][x] of sum(Y * dY), straight from the forward definition.
double direct_dx(const Layer& l, const test::Tensor4& dy, const test::Tensor4& w, int64_t b,
                 int64_t c, int64_t y, int64_t x) {
  double sum = 0;
  for (int64_t m = 0; m < l.row.output[0]; ++m) {
    for (int64_t e = 0; e < l.out_side(); ++e) {
      for (int64_t f = 0; f < l.out_side(); ++f) {
        const int64_t r = y + l.pad() - e * l.row.stride[0];
        const int64_t s = x + l.pad() - f * l.row.stride[0];
        sum += w(m, c, r, s) * dy(b, m, e, f);
      }
    }
  }
  return sum;
}

TEST(PeGrid, RowStationaryInputGradient) {
  for (const Layer& l : small_layers()) {
    const test::Tensor4 dy = tensor(l.out_side(), 3), w = tensor(l.k(), 2);
    const int64_t stride = l.row.stride[0], shift = l.k() - 1 - l.pad();
    const Work work = input_gradient_work(forward_work(l.row, l.batch), l.row);
    // dY spread out with zeros, the filter turned round, channels and filters exchanged.
    const auto spread = [&](int64_t b, int64_t m, int64_t y, int64_t x) {
      const int64_t v = y - shift, u = x - shift;
      return v >= 0 && u >= 0 && v % stride == 0 && u % stride == 0
                 ? dy(b, m, v / stride, u / stride)
                 : 0.0;
    };
    const auto turned = [&](int64_t c, int64_t m, int64_t r, int64_t s) {
      return w(m, c, l.k() - 1 - r, l.k() - 1 - s);
    };
    for (const Array& array : small_arrays()) {
      const auto run = test::row_stationary(work.conv, 1, array, spread, turned);
      EXPECT_EQ(kRowStationary.cost(work, array).cycles, run.cycles) << l.row.name;
      size_t i = 0;
      for (int64_t b = 0; b < l.batch; ++b) {
        for (int64_t c = 0; c < l.row.input[0]; ++c) {
          for (int64_t y = 0; y < l.in_side(); ++y) {
            for (int64_t x = 0; x < l.in_side(); ++x) {
              ASSERT_EQ(run.out[i++], direct_dx(l, dy, w, b, c, y, x)) << l.row.name;
            }
          }
        }
      }
    }
  }
}

TEST(PeGrid, RowStationaryWeightGradient) {
  for (const Layer& l : small_layers()) {
    if (l.row.stride[0] != 1) continue;  // a strided layer's is a dilated convolution: same cycles
    const test::Tensor4 x = tensor(l.in_side(), 1), dy = tensor(l.out_side(), 3);
    const Work work = weight_gradient_work(forward_work(l.row, l.batch), l.row);
    const int64_t pad = l.pad();
    // An image per input channel, a channel per example; the filters are dY.
    const auto images = [&](int64_t c, int64_t b, int64_t v, int64_t u) {
      return x(b, c, v - pad, u - pad);
    };
    const auto filters = [&](int64_t m, int64_t b, int64_t r, int64_t s) { return dy(b, m, r, s); };
    for (const Array& array : small_arrays()) {
      const auto run = test::row_stationary(work.conv, 1, array, images, filters);
      EXPECT_EQ(kRowStationary.cost(work, array).cycles, run.cycles) << l.row.name;
      size_t i = 0;
      for (int64_t c = 0; c < l.row.input[0]; ++c) {
        for (int64_t m = 0; m < l.row.output[0]; ++m) {
          for (int64_t r = 0; r < l.k(); ++r) {
            for (int64_t s = 0; s < l.k(); ++s) {
              double sum = 0;
              for (int64_t b = 0; b < l.batch; ++b) {
                for (int64_t e = 0; e < l.out_side(); ++e) {
                  for (int64_t f = 0; f < l.out_side(); ++f) {
                    sum += dy(b, m, e, f) * x(b, c, e + r - pad, f + s - pad);
                  }
                }
              }
              ASSERT_EQ(run.out[i++], sum) << l.row.name;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace adagp::accel
