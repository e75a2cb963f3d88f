#include "adagp/sim/zoo/zoo.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/sim/zoo/embedded.h"

namespace adagp::zoo {
namespace {

namespace fs = std::filesystem;

void expect_embedded(std::span<const File> files, const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(ADAGP_SOURCE_DIR "/configs/" + folder)) {
    const std::string name = entry.path().stem();
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const File& file) { return file.name == name; });
    ASSERT_NE(found, files.end()) << name;
    EXPECT_EQ(found->text, core::read_file(entry.path())) << name;
    ++count;
  }
  EXPECT_EQ(files.size(), count);
}

TEST(Zoo, EveryFileIsInsideByteForByte) {
  expect_embedded(layer_files(), "layers");
  expect_embedded(accelerator_files(), "accelerators");
}

TEST(Zoo, EveryTableAndAcceleratorIsReadable) {
  for (const auto& model : models()) {
    for (const auto& input : inputs(model)) {
      EXPECT_FALSE(layer_table(model, input).rows.empty()) << model << " " << input;
    }
  }
  for (const auto& name : accelerators()) EXPECT_GT(accelerator(name).array.pes(), 0) << name;
}

TEST(Zoo, HundredClassesChangeTheClassifierAlone) {
  const auto ten = layer_table("resnet50", "cifar"), hundred = layer_table("resnet50", "cifar100");
  ASSERT_EQ(ten.rows.size(), hundred.rows.size());
  int changed = 0;
  for (size_t i = 0; i < ten.rows.size(); ++i) {
    const layers::Row &a = ten.rows[i], &b = hundred.rows[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.input, b.input);
    if (a.output == b.output) {
      EXPECT_EQ(a.weights, b.weights);
      continue;
    }
    ++changed;
    EXPECT_EQ(a.op, "linear");
    EXPECT_EQ(a.output[0], 10);
    EXPECT_EQ(b.output[0], 100);
    EXPECT_EQ(b.weights, 100 * b.input[0]);
    EXPECT_EQ(b.bias, 100);
    EXPECT_EQ(b.macs, b.weights);
  }
  EXPECT_EQ(changed, 1);
}

TEST(Zoo, UnknownNamesGetTheNearest) {
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message([] { layer_table("resnet51", "cifar"); }).find("did you mean 'resnet50'"),
            std::string::npos);
  EXPECT_NE(message([] { layer_table("resnet50", "mnist"); }).find("imagenet"), std::string::npos);
  EXPECT_NE(message([] { accelerator("eyerisss"); }).find("did you mean 'eyeriss'"),
            std::string::npos);
  EXPECT_THROW(accelerator("no/such.toml"), DataError);
}

}  // namespace
}  // namespace adagp::zoo
