#include "adagp/engine/data/sets/packed.h"

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/io/image/image.h"
#include "adagp/engine/data/sets/write.h"
#include "adagp/engine/io/tensors.h"
#include "unit/data/helpers.h"

namespace adagp::data::testing {
namespace {

Splits open_packed_at(const fs::path& path, int64_t limit = 0) {
  Config config;
  config.name = "packed";
  config.dir = path.string();
  config.limit = limit;
  return open(config);
}

at::Tensor some_planes(int64_t count) {
  return random_images(count, 5, 7).permute({0, 3, 1, 2}).contiguous();
}

void expect_equal(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.labels(), b.labels());
  EXPECT_TRUE(a.resident().equal(b.resident()));
}

TEST(Packed, WrittenDataSetsReadBackEqual) {
  Config config;
  config.synthetic_train = 43;
  config.synthetic_test = 21;
  const Splits splits = open(config);
  const TempFolder temp;
  write_packed(splits, (temp / "a.safetensors").string());
  write_cifar10(splits, (temp / "cifar").string());
  config.name = "packed";
  config.dir = (temp / "a.safetensors").string();
  const Splits packed = open(config);
  expect_equal(*packed.train, *splits.train);
  expect_equal(*packed.test, *splits.test);
  EXPECT_EQ(packed.classes, splits.classes);
  EXPECT_EQ(packed.mean, splits.mean);

  config.name = "cifar10";
  config.dir = (temp / "cifar").string();
  const Splits cifar = open(config);
  expect_equal(*cifar.train, *splits.train);
  expect_equal(*cifar.test, *splits.test);
  EXPECT_EQ(cifar.classes, splits.classes);

  if (!io::have_png()) GTEST_SKIP() << "built without libpng";
  write_folder(splits, (temp / "folder").string());
  config.name = "image-folder";
  config.dir = (temp / "folder").string();
  const Splits folder = open(config);
  // Sorted by class there: the images of the first class come first.
  ASSERT_EQ(folder.train->size(), 43);
  ASSERT_EQ(folder.classes.front(), "checkerboard");
  EXPECT_TRUE(folder.train->image(0).equal(splits.train->image(8)));
  EXPECT_TRUE(folder.train->image(1).equal(splits.train->image(18)));
}

TEST(Packed, OneHalfServesAsBoth) {
  const TempFolder temp;
  const at::Tensor planes = some_planes(4);
  io::save_tensors(temp / "x.safetensors",
                   {{"images", planes}, {"labels", at::tensor({0L, 2L, 1L, 2L})}});
  const Splits splits = open_packed_at(temp / "x.safetensors");
  EXPECT_EQ(splits.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(splits.height, 5);
  EXPECT_EQ(splits.width, 7);
  EXPECT_TRUE(splits.test->image(3).equal(planes[3].permute({1, 2, 0})));
  EXPECT_EQ(open_packed_at(temp / "x.safetensors", 3).train->labels(),
            (std::vector<int64_t>{0, 2, 1}));
}

TEST(Packed, AFolderHoldsAPair) {
  const TempFolder temp;
  io::save_tensors(temp / "train.safetensors",
                   {{"images", some_planes(3)}, {"labels", at::tensor({0L, 1L, 1L})}},
                   {{"classes", R"(["no", "yes"])"}});
  EXPECT_THROW(open_packed_at(temp.path().string()), DataError);
  io::save_tensors(temp / "test.safetensors",
                   {{"images", some_planes(1)}, {"labels", at::tensor({1L})}});
  const Splits splits = open_packed_at(temp.path().string());
  EXPECT_EQ(splits.train->size(), 3);
  EXPECT_EQ(splits.test->size(), 1);
  EXPECT_EQ(splits.classes, (std::vector<std::string>{"no", "yes"}));
}

TEST(Packed, WrongContentIsADataError) {
  const TempFolder temp;
  const fs::path file = temp / "x.safetensors";
  const auto message = [&](const io::TensorMap& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    io::save_tensors(file, tensors, metadata);
    return message_of<DataError>([&] { open_packed_at(file); });
  };
  const at::Tensor planes = some_planes(2), labels = at::tensor({0L, 3L});
  expect_part(message({{"images", planes}}), "labels");
  expect_part(message({{"images", planes.to(at::kFloat)}, {"labels", labels}}), "F32");
  expect_part(message({{"images", planes.permute({0, 2, 3, 1})}, {"labels", labels}}),
              "expected U8 [N, 3, H, W]");
  expect_part(message({{"images", planes}, {"labels", at::tensor({0L})}}), "expected I64 [2]");
  expect_part(message({{"images", planes}, {"labels", labels}}, {{"classes", R"(["a"])"}}),
              "label 3, but metadata names 1 classes");
  expect_part(message({{"images", planes}, {"labels", labels}}, {{"classes", "a,b"}}),
              "not a JSON array");
  expect_part(message({{"images", planes}, {"labels", at::tensor({0L, -1L})}}), "label -1");
  // A name for each label up to the highest would take all memory.
  expect_part(message({{"images", planes}, {"labels", at::tensor({0L, 1000000000000L})}}),
              "label 1000000000000, expected less than");
  expect_part(message({{"images", planes.narrow(2, 0, 0)}, {"labels", labels}}),
              "expected U8 [N, 3, H, W]");
  expect_part(message_of<DataError>([&] { open_packed_at(temp / "none"); }), "no such file");
}

// Class names come from other people's files; written as folders they must stay inside.
TEST(Packed, ClassNamesDoNotLeadOutOfTheFolder) {
  const TempFolder temp;
  const fs::path file = temp / "x.safetensors", folder = temp / "out" / "set";
  const auto open_with = [&](const std::string& name) {
    io::save_tensors(file, {{"images", some_planes(2)}, {"labels", at::tensor({0L, 1L})}},
                     {{"classes", nlohmann::json{"good", name}.dump()}});
    return open_packed_at(file);
  };
  const std::string long_name(256, 'x');
  for (const std::string& name :
       {std::string("../../../x"), (temp / "abs").string(), std::string(".."), std::string("."),
        std::string("a/b"), std::string("a\\b"), long_name}) {
    const Splits splits = open_with(name);  // it may be learnt all the same
    expect_part(message_of<DataError>([&] { write_folder(splits, folder.string()); }),
                "'" + name + "' cannot be the name of a folder");
    EXPECT_FALSE(fs::exists(temp / "out")) << name;
  }
  for (const std::string name : {"", "a\nb", "\x1b[31m", "\x7f", "\xc2\x9b"}) {
    expect_part(message_of<DataError>([&] { open_with(name); }), "class 1, '");
  }
  expect_part(message_of<DataError>([&] { open_with("good"); }), "'good', has the name of another");
}

TEST(Packed, AFilledFolderIsNotWrittenInto) {
  Config config;
  config.synthetic_train = config.synthetic_test = 10;
  const Splits splits = open(config);
  const TempFolder temp;
  const std::string folder = (temp / "set").string();
  write_cifar10(splits, folder);
  const auto refused = [&](const std::function<void()>& write) {
    expect_part(message_of<UsageError>(write), folder + ": there is something in the folder");
  };
  refused([&] { write_cifar10(splits, folder); });
  if (!io::have_png()) GTEST_SKIP() << "built without libpng";
  refused([&] { write_folder(splits, folder); });
  EXPECT_FALSE(fs::exists(temp / "set/train"));
  fs::remove_all(folder);
  fs::create_directory(folder);
  write_folder(splits, folder);
  refused([&] { write_folder(splits, folder); });
}

TEST(Packed, CutOffFilesAreDataErrors) {
  const TempFolder temp;
  const fs::path file = temp / "x.safetensors";
  io::save_tensors(file, {{"images", some_planes(2)}, {"labels", at::tensor({0L, 3L})}});
  const std::string whole = core::read_file(file);
  for (const size_t length :
       {size_t{0}, size_t{5}, size_t{40}, whole.size() / 2, whole.size() - 1}) {
    core::write_file(file, whole.substr(0, length));
    expect_part(message_of<DataError>([&] { open_packed_at(file); }), "x.safetensors");
  }
}

}  // namespace
}  // namespace adagp::data::testing
