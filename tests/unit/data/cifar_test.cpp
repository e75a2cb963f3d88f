#include "adagp/engine/data/sets/cifar.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "unit/data/helpers.h"

namespace adagp::data::testing {
namespace {

// Records whose pixel p of plane c is (label + 3 c + p) modulo 251.
std::string cifar_bytes(const std::vector<int>& labels, int label_bytes) {
  std::string bytes;
  for (const int label : labels) {
    if (label_bytes == 2) bytes += static_cast<char>(label / 5);
    bytes += static_cast<char>(label);
    for (int c = 0; c < 3; ++c) {
      for (int p = 0; p < 1024; ++p) bytes += static_cast<char>((label + 3 * c + p) % 251);
    }
  }
  return bytes;
}

void write_small_cifar10(const fs::path& folder) {
  fs::create_directories(folder);
  for (int i = 1; i <= 5; ++i) {
    core::write_file(folder / ("data_batch_" + std::to_string(i) + ".bin"),
                     cifar_bytes({i, i - 1, 0}, 1));
  }
  core::write_file(folder / "test_batch.bin", cifar_bytes({9, 8}, 1));
}

Splits open_at(const std::string& name, const std::string& dir, int64_t limit = 0) {
  Config config;
  config.name = name;
  config.dir = dir;
  config.limit = limit;
  return open(config);
}

TEST(Cifar, ParsesLabelsAndPlanes) {
  for (const int label_bytes : {1, 2}) {
    const auto records = parse_cifar(cifar_bytes({3, 9}, label_bytes), "x", label_bytes);
    EXPECT_EQ(records.labels, (std::vector<int64_t>{3, 9}));
    ASSERT_EQ(records.pixels.size(), 2U * 3072);
    EXPECT_EQ(records.pixels[0], 3);
    EXPECT_EQ(records.pixels[3072 + 2 * 1024 + 5], 9 + 6 + 5);
  }
}

TEST(Cifar, CutOffBytesAreRefusedAtAnyLength) {
  const std::string whole = cifar_bytes({1, 2}, 1);
  for (const size_t length : {0, 1, 3072, 3074, 6000, 6145}) {
    EXPECT_THROW(parse_cifar(whole.substr(0, length), "x", 1), DataError) << length;
  }
  EXPECT_THROW(parse_cifar(whole.substr(0, 3073), "x", 1, 2), DataError);
  EXPECT_NO_THROW(parse_cifar(whole.substr(0, 3073), "x", 1));
  EXPECT_THROW(parse_cifar(whole + "x", "x", 1), DataError);
}

TEST(Cifar, ACutOffFileIsNamedWithBothSizes) {
  const std::string bytes(30720000, '\0');
  EXPECT_EQ(
      message_of<DataError>([&] { parse_cifar(bytes, "cifar10: data_batch_3.bin", 1); }),
      "data: cifar10: data_batch_3.bin: 30 720 000 bytes, expected 30 730 000 (10 000 records "
      "of 3 073): the file is cut short; download it again");
}

TEST(Cifar, LabelsOutOfRangeAreRefused) {
  expect_part(message_of<DataError>([&] {
                parse_cifar(cifar_bytes({1, 10}, 1), "f", 1);
              }),
              "record 1 has label 10, expected 0 to 9");
  EXPECT_NO_THROW(parse_cifar(cifar_bytes({99}, 2), "f", 2));
  EXPECT_THROW(parse_cifar(cifar_bytes({100}, 2), "f", 2), DataError);
}

TEST(Cifar, OpensTheFolderOrItsParent) {
  const TempFolder temp;
  write_small_cifar10(temp / "cifar-10-batches-bin");
  for (const std::string& dir : {temp.path().string(), (temp / "cifar-10-batches-bin").string()}) {
    const Splits splits = open_at("cifar10", dir);
    ASSERT_EQ(splits.train->size(), 15);
    ASSERT_EQ(splits.test->size(), 2);
    EXPECT_EQ(splits.train->labels()[3], 2);
    // Row 2, column 7 of the green plane.
    EXPECT_EQ(splits.train->image(3)[2][7][1].item<int>(), 2 + 3 + 2 * 32 + 7);
    EXPECT_EQ(splits.classes[9], "9");
    EXPECT_EQ(splits.mean[0], 0.4914);
    EXPECT_EQ(splits.height, 32);
  }
  core::write_file(temp / "cifar-10-batches-bin/batches.meta.txt",
                   "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
  EXPECT_EQ(open_at("cifar10", temp.path().string()).classes[9], "truck");
  core::write_file(temp / "cifar-10-batches-bin/batches.meta.txt",
                   "\xef\xbb\xbf"
                   "0\n1\n2\n3\n4\n5\n6\n7\n8\n../9\n");
  EXPECT_EQ(open_at("cifar10", temp.path().string()).classes[0], "0");
  core::write_file(temp / "cifar-10-batches-bin/batches.meta.txt",
                   "cat\ncat\n2\n3\n4\n5\n6\n7\n8\n9\n");
  expect_part(message_of<DataError>([&] { open_at("cifar10", temp.path().string()); }), "'cat'");
}

TEST(Cifar, OpensCifar100WithFineLabels) {
  const TempFolder temp;
  core::write_file(temp / "train.bin", cifar_bytes({99, 0, 50}, 2));
  core::write_file(temp / "test.bin", cifar_bytes({42}, 2));
  const Splits splits = open_at("cifar100", temp.path().string());
  EXPECT_EQ(splits.train->labels(), (std::vector<int64_t>{99, 0, 50}));
  EXPECT_EQ(splits.classes.size(), 100U);
}

TEST(Cifar, TheLimitIsSpreadOverClasses) {
  const TempFolder temp;
  write_small_cifar10(temp / "c");
  // Labels: 1 0 0, 2 1 0, 3 2 0, 4 3 0, 5 4 0: one of each class, then the second of class 0.
  const auto labels = open_at("cifar10", (temp / "c").string(), 7).train->labels();
  EXPECT_EQ(labels, (std::vector<int64_t>{1, 0, 0, 2, 3, 4, 5}));
}

TEST(Cifar, MissingAndCutOffFilesAreDataErrors) {
  const TempFolder temp;
  expect_part(message_of<DataError>([&] { open_at("cifar10", temp.path().string()); }),
              "data_batch_1.bin");
  expect_part(message_of<DataError>([&] { open_at("cifar10", temp.path().string() + "/no"); }),
              "no such folder");
  expect_part(message_of<UsageError>([&] { open_at("cifar10", ""); }), "--data-dir");
  write_small_cifar10(temp / "c");
  fs::remove(temp / "c/data_batch_4.bin");
  expect_part(message_of<DataError>([&] { open_at("cifar10", (temp / "c").string()); }),
              "data_batch_4.bin: no such file");
  write_small_cifar10(temp / "c");
  fs::resize_file(temp / "c/test_batch.bin", 4000);
  expect_part(message_of<DataError>([&] { open_at("cifar10", (temp / "c").string()); }),
              "test_batch.bin: 4 000 bytes, expected whole records of 3 073");
}

// Cut at a record's end, a published file is still too short.
TEST(Cifar, APublishedFileMustBeWhole) {
  const TempFolder temp;
  write_small_cifar10(temp / "c");
  fs::resize_file(temp / "c/data_batch_1.bin", 9999 * 3073);
  expect_part(message_of<DataError>([&] { open_at("cifar10", (temp / "c").string()); }),
              "data_batch_1.bin: 30 726 927 bytes, expected 30 730 000");
}

}  // namespace
}  // namespace adagp::data::testing
