#pragma once
// What several tests of the data folder need.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "adagp/base/core/rng.h"
#include "adagp/engine/data/sets/registry.h"
#include "unit/temp_folder.h"

namespace adagp::data::testing {

namespace fs = std::filesystem;

using adagp::testing::TempFolder;

// u8 [N, H, W, 3], every value drawn on its own.
inline at::Tensor random_images(int64_t count, int64_t height, int64_t width, uint64_t seed = 1) {
  core::Rng rng(seed);
  at::Tensor images = at::empty({count, height, width, 3}, at::kByte);
  auto* p = images.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < images.numel(); ++i) p[i] = static_cast<uint8_t>(rng.below(256));
  return images;
}

inline std::shared_ptr<ResidentDataset> random_dataset(int64_t count, int64_t side) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back(i % 10);
  return std::make_shared<ResidentDataset>(random_images(count, side, side), labels);
}

// The message of the E that `call` throws; fails the test when it throws nothing or something else.
template <typename E>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in '" << text << "'";
}

}  // namespace adagp::data::testing
