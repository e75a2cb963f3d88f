// Does a summary hold the batch mean, pooled? Against plain loops over odd shapes.

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "adagp/engine/predictor/batch_mean.h"
#include "adagp/engine/predictor/summaries.h"
#include "unit/predictor/net.h"

namespace adagp::predictor {
namespace {

// Mean over the batch and over the window [floor(i*H/s), ceil((i+1)*H/s)) of PyTorch's adaptive
// pool.
double slow_cell(const at::Tensor& x, int64_t c, int64_t i, int64_t j, int64_t s) {
  const int64_t height = x.size(2), width = x.size(3);
  double sum = 0;
  int64_t count = 0;
  for (int64_t b = 0; b < x.size(0); ++b) {
    for (int64_t h = i * height / s; h < (i * height + height + s - 1) / s; ++h) {
      for (int64_t w = j * width / s; w < (j * width + width + s - 1) / s; ++w) {
        sum += x[b][c][h][w].item<double>();
        ++count;
      }
    }
  }
  return sum / static_cast<double>(count);
}

struct MapCase {
  int64_t batch, channels, height, width, size;
};
class Maps : public ::testing::TestWithParam<MapCase> {};

TEST_P(Maps, AreMeansOfWindows) {
  const auto& p = GetParam();
  at::manual_seed(1);
  const at::Tensor x = at::randn({p.batch, p.channels, p.height, p.width});
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor found = reorganise(x.contiguous(format), nn::LayerKind::kConv2d, p.size);
    ASSERT_EQ(found.sizes(), (std::vector<int64_t>{p.channels, p.size * p.size}));
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t i = 0; i < p.size; ++i) {
        for (int64_t j = 0; j < p.size; ++j) {
          // fp32 sums of at most some 1000 values of size 1.
          EXPECT_NEAR(found[c][i * p.size + j].item<double>(), slow_cell(x, c, i, j, p.size), 1e-5);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OddShapes, Maps,
                         ::testing::Values(MapCase{1, 1, 1, 1, 8}, MapCase{3, 2, 1, 7, 4},
                                           MapCase{2, 3, 5, 3, 8}, MapCase{4, 1, 16, 16, 8},
                                           MapCase{5, 2, 17, 33, 8}, MapCase{1, 4, 8, 8, 8},
                                           MapCase{2, 5, 9, 2, 3}));

TEST(Reorganise, LinearOutputIsOneValueRepeated) {
  const at::Tensor x = at::randn({6, 5});
  const at::Tensor found = reorganise(x, nn::LayerKind::kLinear, 4);
  ASSERT_EQ(found.sizes(), (std::vector<int64_t>{5, 16}));
  const at::Tensor expected = x.mean(0).unsqueeze(1).expand({5, 16});
  EXPECT_TRUE(at::allclose(found, expected, 1e-5, 1e-6));
}

TEST(Reorganise, TokensAreTheSpatialAxis) {
  const at::Tensor x = at::randn({3, 8, 2});  // [B, T, C]
  const at::Tensor found = reorganise(x, nn::LayerKind::kLinear, 4).view({2, 4, 4});
  for (int64_t c = 0; c < 2; ++c) {
    for (int64_t i = 0; i < 4; ++i) {
      const double expected = x.slice(1, 2 * i, 2 * i + 2).select(2, c).mean().item<double>();
      for (int64_t j = 0; j < 4; ++j) EXPECT_NEAR(found[c][i][j].item<double>(), expected, 1e-6);
    }
  }
}

// The largest value of the window [floor(i*H/s), ceil((i+1)*H/s)) of a plane.
double slow_maximum(const at::Tensor& plane, int64_t i, int64_t j, int64_t s) {
  const int64_t height = plane.size(0), width = plane.size(1);
  double largest = -1e30;
  for (int64_t h = i * height / s; h < (i * height + height + s - 1) / s; ++h) {
    for (int64_t w = j * width / s; w < (j * width + width + s - 1) / s; ++w) {
      largest = std::max(largest, plane[h][w].item<double>());
    }
  }
  return largest;
}

TEST(Reorganise, MaximaAreThoseOfTheBatchMean) {
  at::manual_seed(2);
  for (const auto& shape : {std::vector<int64_t>{3, 2, 9, 6}, std::vector<int64_t>{2, 3, 1, 5}}) {
    const at::Tensor x = at::randn(shape).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor found = reorganise(x, nn::LayerKind::kConv2d, 4, Pooling::kMaxima);
    ASSERT_EQ(found.sizes(), (std::vector<int64_t>{shape[1], 16}));
    const at::Tensor mean = x.mean(at::IntArrayRef{0});
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t k = 0; k < 16; ++k) {
        // fp32 means of three values of size 1.
        EXPECT_NEAR(found[c][k].item<double>(), slow_maximum(mean[c], k / 4, k % 4, 4), 1e-6);
      }
    }
  }
}

TEST(Reorganise, MaximaOfALinearLayerAreOfOneImage) {
  at::manual_seed(3);
  for (const auto& shape :
       {std::vector<int64_t>{6, 10}, std::vector<int64_t>{2, 3}, std::vector<int64_t>{5, 7, 6}}) {
    const at::Tensor x = at::randn(shape);
    const at::Tensor found = reorganise(x, nn::LayerKind::kLinear, 4, Pooling::kMaxima);
    ASSERT_EQ(found.sizes(), (std::vector<int64_t>{1, 16}));
    // Batch x features; of tokens [B, T, C] the batch mean.
    const at::Tensor plane = x.dim() == 2 ? x : x.mean(at::IntArrayRef{0});
    for (int64_t k = 0; k < 16; ++k) {
      EXPECT_NEAR(found[0][k].item<double>(), slow_maximum(plane, k / 4, k % 4, 4), 1e-6);
    }
  }
}

TEST(Summaries, OfMaximaHaveOneRowForALinearLayer) {
  testing_net::OddNet net;
  Summaries summaries(net.layers, 4, Pooling::kMaxima);
  EXPECT_EQ(summaries.rows().sizes(), (std::vector<int64_t>{4 + 2 + 6 + 5 + 1, 16}));
  summaries.begin();
  EXPECT_FALSE(summaries.summary_target(*net.layers[0]));  // no kernel takes maxima
  const at::Tensor one = at::randn({6, 3}), other = at::randn({8, 3});
  summaries.on_part(*net.layers[4], 0, one, one);
  summaries.on_part(*net.layers[4], 3, other, other);
  const auto image = [](const at::Tensor& x) {
    return reorganise(x, nn::LayerKind::kLinear, 4, Pooling::kMaxima);
  };
  EXPECT_TRUE(at::allclose(summaries.rows(4), (image(one) + image(other)) / 2, 1e-6, 1e-6));
}

TEST(BatchMean, EqualsAtenOverDenseAndStridedTensors) {
  for (const auto& x : {at::randn({7, 3, 5, 5}), at::randn({1, 2049}), at::randn({300, 2, 70, 31}),
                        at::randn({4, 6, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast),
                        at::randn({4, 6, 5}).transpose(1, 2)}) {
    const at::Tensor expected = x.to(at::kDouble).mean(at::IntArrayRef{0});
    EXPECT_TRUE(at::allclose(batch_mean(x).to(at::kDouble), expected, 1e-5, 1e-5));
  }
}

// Every element is added up by one thread, in the order of the batch.
TEST(BatchMean, IsTheSameWithAnyNumberOfThreads) {
  const at::Tensor x = at::randn({9, 5, 64, 63});  // ten blocks
  at::set_num_threads(1);
  const at::Tensor expected = batch_mean(x);
  for (const int threads : {2, 3, 7}) {
    at::set_num_threads(threads);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(at::equal(batch_mean(x), expected)) << threads;
  }
  at::set_num_threads(1);
}

TEST(Summaries, RowsOfLayersStandOneAfterAnother) {
  testing_net::OddNet net;
  Summaries summaries(net.layers, 2);
  EXPECT_EQ(summaries.rows().sizes(), (std::vector<int64_t>{4 + 2 + 6 + 5 + 3, 4}));
  summaries.begin();
  const at::Tensor output = at::randn({2, 6, 4, 4});
  summaries.on_output(*net.layers[2], output, output);
  EXPECT_TRUE(
      at::equal(summaries.rows().narrow(0, 6, 6), reorganise(output, nn::LayerKind::kConv2d, 2)));
  EXPECT_EQ(summaries.rows().narrow(0, 0, 6).abs().sum().item<float>(), 0);
}

TEST(Summaries, MicroBatchesAverageToTheWholeBatch) {
  testing_net::OddNet net;
  Summaries whole(net.layers, 4), parts(net.layers, 4);
  const at::Tensor output = at::randn({6, 4, 5, 5});
  whole.begin();
  whole.on_output(*net.layers[0], output, output);
  parts.begin(3);
  for (const auto& part : output.chunk(3)) parts.on_output(*net.layers[0], part, part);
  EXPECT_TRUE(at::allclose(whole.rows(0), parts.rows(0), 1e-5, 1e-6));
}

}  // namespace
}  // namespace adagp::predictor
