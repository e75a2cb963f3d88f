#include "adagp/teams/comm/flat_tensor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace adagp::comm {
namespace {

// 0, 1, 2, ... in the order of indices.
at::Tensor counted(at::IntArrayRef sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return at::arange(count, at::kFloat).view(sizes);
}

// Element by element from its address on.
std::vector<float> memory_of(const at::Tensor& tensor, int64_t count) {
  const float* data = tensor.const_data_ptr<float>();
  return {data, data + count};
}

std::vector<float> values_of(const at::Tensor& row) {
  EXPECT_EQ(row.dim(), 1);
  return memory_of(row.contiguous(), row.numel());
}

// In one piece, in every order of axes; the last ones do not begin where their memory does.
std::vector<at::Tensor> dense_tensors() {
  return {counted({2, 3, 4, 5}),
          counted({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast),
          counted({4, 6}).t(),
          counted({2, 3, 4}).permute({2, 0, 1}),
          counted({1}).squeeze(),
          counted({7}),
          counted({6, 4}).narrow(0, 2, 3),
          counted({3, 4, 6}).select(0, 1).t()};
}

// Each a part of the second, with gaps.
std::vector<std::pair<at::Tensor, at::Tensor>> tensors_with_gaps() {
  std::vector<std::pair<at::Tensor, at::Tensor>> out;
  at::Tensor whole = counted({5, 6});
  out.emplace_back(whole.slice(1, 0, 6, 2), whole);
  whole = counted({4, 6});
  out.emplace_back(whole.narrow(1, 1, 3).t(), whole);
  whole = counted({2, 4, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast);
  out.emplace_back(whole.narrow(1, 1, 2), whole);
  return out;
}

TEST(FlatTensor, ARowOfADenseTensorIsItsMemory) {
  for (const at::Tensor& tensor : dense_tensors()) {
    const at::Tensor row = row_of(tensor);
    EXPECT_EQ(row.const_data_ptr(), tensor.const_data_ptr()) << tensor.strides();
    EXPECT_EQ(values_of(row), memory_of(tensor, tensor.numel())) << tensor.strides();
  }
}

TEST(FlatTensor, ARowOfATensorWithGapsIsACopyInTheOrderOfIndices) {
  for (const auto& [tensor, whole] : tensors_with_gaps()) {
    at::Tensor row = row_of(tensor);
    EXPECT_FALSE(row.is_alias_of(whole)) << tensor.strides();
    EXPECT_TRUE(at::equal(row.view(tensor.sizes()), tensor)) << tensor.strides();
  }
  const at::Tensor repeated = counted({3, 1}).expand({3, 2});
  EXPECT_EQ(values_of(row_of(repeated)), (std::vector<float>{0, 0, 1, 1, 2, 2}));
}

TEST(FlatTensor, PuttingARowBackIsTheWayBack) {
  std::vector<at::Tensor> tensors = dense_tensors();
  for (const auto& [tensor, whole] : tensors_with_gaps()) tensors.push_back(tensor);
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor before = tensor.clone();
    const at::Tensor row = row_of(tensor).clone();
    tensor.neg_();
    put_row(row, tensor);
    EXPECT_TRUE(at::equal(tensor, before)) << tensor.strides();
  }
}

TEST(FlatTensor, WhatArrivesGoesIntoTheTensorAndNotBesideIt) {
  for (const at::Tensor& tensor : dense_tensors()) {
    FlatTensor flat(tensor, at::kCPU, false);
    flat.row().fill_(-1);
    flat.arrive();
    EXPECT_TRUE(tensor.eq(-1).all().item<bool>()) << tensor.strides();
  }
  for (const bool filled : {false, true}) {
    for (const auto& [tensor, whole] : tensors_with_gaps()) {
      const at::Tensor before = whole.clone();
      FlatTensor flat(tensor, at::kCPU, filled);
      EXPECT_EQ(flat.row().sizes(), at::IntArrayRef({tensor.numel()}));
      if (filled) {
        EXPECT_EQ(values_of(flat.row()), values_of(row_of(tensor)));
      }
      flat.row().copy_(-1 - at::arange(tensor.numel(), at::kFloat));
      EXPECT_TRUE(at::equal(whole, before)) << "changed before anything arrived";
      flat.arrive();
      EXPECT_TRUE(at::equal(tensor, -1 - counted(tensor.sizes()))) << tensor.strides();
      EXPECT_EQ(whole.ne(before).sum().item<int64_t>(), tensor.numel()) << tensor.strides();
    }
  }
}

TEST(FlatTensor, EmptyTensorsAreNoSpecialCase) {
  for (const bool filled : {false, true}) {
    for (const at::Tensor& tensor :
         {counted({0}), counted({0, 3}), counted({3, 0, 2, 2}),
          counted({2, 0, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast),
          counted({4, 6}).slice(1, 2, 2)}) {
      FlatTensor flat(tensor, at::kCPU, filled);
      EXPECT_TRUE(flat.empty());
      EXPECT_EQ(flat.row().numel(), 0);
      flat.arrive();
    }
  }
  EXPECT_FALSE(FlatTensor(counted({1}), at::kCPU, true).empty());
}

// Parameters travel, too: their rows are no part of a graph.
TEST(FlatTensor, ALeafThatRequiresAGradientIsWrittenTo) {
  const at::Tensor whole = counted({4, 6}), gaps = counted({4, 6}).slice(1, 0, 6, 2);
  for (at::Tensor leaf : {whole.clone().t(), gaps.detach()}) {
    leaf.requires_grad_();
    FlatTensor flat(leaf, at::kCPU, true);
    EXPECT_FALSE(flat.row().requires_grad());
    flat.row().fill_(3);
    flat.arrive();
    EXPECT_TRUE(leaf.eq(3).all().item<bool>());
    EXPECT_TRUE(leaf.is_leaf() && leaf.requires_grad());
  }
}

}  // namespace
}  // namespace adagp::comm
