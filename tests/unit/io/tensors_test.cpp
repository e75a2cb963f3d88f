#include "adagp/engine/io/tensors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::io {
namespace {

using testing::run_python;
using testing::TempFolder;

// What tests/unit/io/python/safetensors_both_ways.py makes too: every number is exact in its dtype.
TensorMap every_dtype() {
  TensorMap out;
  const at::Tensor numbers = at::arange(6, at::kDouble).reshape({2, 3});
  out["f64"] = numbers / 4 - 0.5;
  out["f32"] = (numbers / 4 - 0.5).to(at::kFloat);
  out["f16"] = (numbers / 4 - 0.5).to(at::kHalf);
  out["bf16"] = (numbers / 4 - 0.5).to(at::kBFloat16);
  out["f8_e4m3"] = (numbers / 4 - 0.5).to(at::kFloat8_e4m3fn);
  out["i64"] = numbers.to(at::kLong) * 1'000'000'007 - 5;
  out["i32"] = numbers.to(at::kInt) - 5;
  out["i16"] = numbers.to(at::kShort) - 5;
  out["i8"] = numbers.to(at::kChar) - 5;
  out["u8"] = numbers.to(at::kByte) + 250;
  out["bool"] = numbers.remainder(2).eq(1);
  out["scalar"] = at::scalar_tensor(2.5, at::kFloat);
  out["empty"] = at::empty({3, 0, 2}, at::kFloat);
  out["odd.bytes"] = at::arange(3, at::kByte);
  return out;
}

void expect_same(const TensorMap& got, const TensorMap& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    ASSERT_EQ(got.count(name), 1u) << name;
    const at::Tensor& other = got.at(name);
    EXPECT_EQ(other.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(other.sizes(), tensor.sizes()) << name;
    // fp8 has no equality of its own.
    EXPECT_TRUE(at::equal(other.to(at::kDouble), tensor.to(at::kDouble))) << name;
  }
}

TEST(Tensors, RoundTripKeepsEveryDtype) {
  const TempFolder temp;
  save_tensors(temp / "w", every_dtype(), {{"step", "3"}});
  const TensorFile file = load_tensors(temp / "w");
  expect_same(file.tensors, every_dtype());
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"step", "3"}}));
}

TEST(Tensors, LayoutDoesNotReachTheFile) {
  const TempFolder temp;
  const at::Tensor plain = at::arange(2 * 3 * 4 * 5, at::kFloat).reshape({2, 3, 4, 5});
  save_tensors(temp / "plain", {{"x", plain}});
  save_tensors(temp / "last", {{"x", plain.contiguous(at::MemoryFormat::ChannelsLast)}});
  EXPECT_EQ(core::read_file(temp / "plain"), core::read_file(temp / "last"));

  const at::Tensor wide = at::arange(12, at::kFloat).reshape({3, 4});
  save_tensors(temp / "view", {{"x", wide.t().slice(0, 1, 3)}});
  const at::Tensor back = load_tensors(temp / "view").tensors.at("x");
  EXPECT_TRUE(back.is_contiguous());
  EXPECT_TRUE(at::equal(back, wide.slice(1, 1, 3).t()));
}

TEST(Tensors, LoadedTensorsOutliveTheFile) {
  const TempFolder temp;
  save_tensors(temp / "w", {{"x", at::ones({1000})}});
  const at::Tensor x = load_tensors(temp / "w").tensors.at("x");
  core::fs::remove(temp / "w");
  EXPECT_EQ(x.sum().item<float>(), 1000);
}

TEST(Tensors, UndefinedAndUnknownDtypesAreRefused) {
  const TempFolder temp;
  EXPECT_THROW(save_tensors(temp / "w", {{"x", at::Tensor()}}), Error);
  EXPECT_THROW(save_tensors(temp / "w", {{"x", at::zeros({2}, at::kComplexDouble)}}), Error);
}

TEST(Tensors, PythonReadsOurFilesAndWeReadPythons) {
  const TempFolder temp;
  save_tensors(temp / "ours", every_dtype(), {{"origin", "adagp"}});
  // The script asserts the content of "ours" and writes "theirs" with the library's own writer.
  run_python("tests/unit/io/python/safetensors_both_ways.py",
             (temp / "ours").string() + " " + (temp / "theirs").string());
  const TensorFile theirs = load_tensors(temp / "theirs");
  expect_same(theirs.tensors, every_dtype());
  EXPECT_EQ(theirs.metadata.at("origin"), "python");
}

}  // namespace
}  // namespace adagp::io
