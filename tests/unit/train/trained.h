#pragma once
// The weights after a short run, and whether two runs have the same bits.

#include <string>

#include <gtest/gtest.h>

#include "adagp/engine/train/build.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"

namespace adagp::train {

inline io::TensorMap trained(config::RunConfig c) {
  const testing::TempFolder folder;
  train(c, small::task(), folder / "run");
  return io::load_tensors(folder / "run" / "weights.safetensors").tensors;
}

inline void expect_equal(const io::TensorMap& a, const io::TensorMap& b,
                         const std::string& what = "") {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(name))) << what << name;
}

}  // namespace adagp::train
