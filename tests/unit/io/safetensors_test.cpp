#include "adagp/base/io/safetensors.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "adagp/base/core/error.h"
#include "unit/temp_folder.h"

namespace adagp::io {
namespace {

using testing::TempFolder;

// A file with the given header text, as another program might write it.
std::string with_header(const std::string& json, const std::string& data = "") {
  const uint64_t length = json.size();
  std::string bytes(reinterpret_cast<const char*>(&length), 8);
  return bytes + json + data;
}

std::string rejection(const std::string& bytes) {
  try {
    SafeTensors::parse(bytes, "w.safetensors");
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("w.safetensors", 0), 0u) << error.what();
    return error.what();
  }
  return "";
}

std::string sample_file(const core::fs::path& path) {
  const std::string floats(24, '\x3f'), byte(1, '\x07');
  write_safetensors(path,
                    {{"b.byte", "U8", {}, byte},
                     {"a.weight", "F32", {2, 3}, floats},
                     {"empty", "F64", {0, 5}, ""}},
                    {{"step", "12"}, {"note", "quote \" and \u00fc"}});
  return core::read_file(path);
}

TEST(SafeTensors, RoundTripKeepsNamesShapesBytesAndMetadata) {
  const TempFolder temp;
  sample_file(temp / "w");
  const SafeTensors file = SafeTensors::read(temp / "w");
  ASSERT_EQ(file.entries().size(), 3u);
  const TensorEntry& weight = file.entry("a.weight");
  EXPECT_EQ(weight.dtype, "F32");
  EXPECT_EQ(weight.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.data().substr(weight.begin, weight.end - weight.begin), std::string(24, '\x3f'));
  const TensorEntry& byte = file.entry("b.byte");
  EXPECT_TRUE(byte.shape.empty());
  EXPECT_EQ(file.data().substr(byte.begin, byte.end - byte.begin), "\x07");
  EXPECT_EQ(file.entry("empty").begin, file.entry("empty").end);
  const std::map<std::string, std::string> expected{{"step", "12"},
                                                    {"note", "quote \" and \u00fc"}};
  EXPECT_EQ(file.metadata(), expected);
}

TEST(SafeTensors, EqualContentInAnyOrderGivesEqualBytes) {
  const TempFolder temp;
  const std::string four = "abcd", one = "x";
  write_safetensors(temp / "1", {{"a", "U8", {1}, one}, {"b", "F32", {1}, four}}, {{"k", "v"}});
  write_safetensors(temp / "2", {{"b", "F32", {1}, four}, {"a", "U8", {1}, one}}, {{"k", "v"}});
  EXPECT_EQ(core::read_file(temp / "1"), core::read_file(temp / "2"));
}

TEST(SafeTensors, EveryTensorIsAlignedToItsElements) {
  const TempFolder temp;
  const std::string eight(8, 'a'), four(4, 'b'), two(2, 'c'), one(1, 'd');
  write_safetensors(temp / "w", {{"a", "U8", {1}, one},
                                 {"b", "BF16", {1}, two},
                                 {"c", "F32", {1}, four},
                                 {"d", "I64", {1}, eight}});
  const std::string bytes = core::read_file(temp / "w");
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  const SafeTensors file = SafeTensors::read(temp / "w");
  for (const auto& entry : file.entries()) EXPECT_EQ(entry.begin % dtype_size(entry.dtype), 0u);
}

TEST(SafeTensors, UnknownNameGetsTheNearest) {
  const TempFolder temp;
  sample_file(temp / "w");
  try {
    SafeTensors::read(temp / "w").entry("a.wieght");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("'a.weight'"), std::string::npos);
  }
}

TEST(SafeTensors, CutOffAtEveryLengthIsRejected) {
  const TempFolder temp;
  const std::string whole = sample_file(temp / "w");
  ASSERT_EQ(rejection(whole), "");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(rejection(whole.substr(0, length)), "") << "accepted " << length << " bytes";
  }
  EXPECT_NE(rejection(whole + "x"), "") << "accepted a byte too many";
}

TEST(SafeTensors, EveryFlippedBitIsFound) {
  const TempFolder temp;
  const std::string whole = sample_file(temp / "w");
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(rejection(damaged), "") << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST(SafeTensors, FilesWithoutChecksumAreRead) {
  const TempFolder temp;
  const std::string four = "abcd";
  write_safetensors(temp / "w", {{"a", "F32", {1}, four}}, {}, false);
  EXPECT_EQ(core::read_file(temp / "w").find("crc32c"), std::string::npos);
  EXPECT_EQ(SafeTensors::read(temp / "w").data(), "abcd");
}

TEST(SafeTensors, RejectsEachViolationOfTheFormat) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  ASSERT_EQ(rejection(with_header(good, "abcd")), "");
  ASSERT_EQ(rejection(with_header("{}")), "");
  ASSERT_EQ(rejection(with_header(good + "   ", "abcd")), "");  // padding

  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& range) {
    return R"("a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + range +
           "}";
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"not JSON", "{"},
      {"not JSON", R"({"a":})"},
      {"not JSON", "{} x"},
      {"not JSON", "{\"\xff\":1}"},
      {"begin with", " {}"},
      {"begin with", "[]"},
      {"begin with", ""},
      {"expected an object", R"({"a":3})"},
      {"no 'dtype'", R"({"a":{}})"},
      {"dtype is not a string", "{" + entry("4", "[1]", "[0,4]") + "}"},
      {"did you mean 'F32'", "{" + entry(R"("f32")", "[1]", "[0,4]") + "}"},
      {"whole numbers", "{" + entry(R"("F32")", "[-1]", "[0,4]") + "}"},
      {"whole numbers", "{" + entry(R"("F32")", "[1.0]", "[0,4]") + "}"},
      {"whole numbers", "{" + entry(R"("F32")", "1", "[0,4]") + "}"},
      {"whole numbers", "{" + entry(R"("F32")", "[18446744073709551615]", "[0,4]") + "}"},
      {"not JSON", "{" + entry(R"("F32")", "[1e400]", "[0,4]") + "}"},
      {"too large", "{" + entry(R"("F32")", "[4294967296,4294967296]", "[0,4]") + "}"},
      {"too large", "{" + entry(R"("F32")", "[4294967296,4294967296,0]", "[0,0]") + "}"},
      {"begin <= end", "{" + entry(R"("F32")", "[1]", "[4,0]") + "}"},
      {"begin <= end", "{" + entry(R"("F32")", "[1]", "[0]") + "}"},
      {"make 8 bytes", "{" + entry(R"("F32")", "[2]", "[0,4]") + "}"},
      {"cut short", "{" + entry(R"("F32")", "[2]", "[0,8]") + "}"},
      {"occurs twice",
       "{" + entry(R"("F32")", "[1]", "[0,4]") + "," + entry(R"("F32")", "[1]", "[0,4]") + "}"},
      {"occurs twice", R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})"},
      {"not an object", R"({"__metadata__":1})"},
      {"not a string", R"({"__metadata__":{"k":1}})"},
      {"too deeply", R"({"a":[[[[[[1]]]]]]})"},
      {"no gap",  // two tensors over the same bytes
       "{" + entry(R"("F32")", "[1]", "[0,4]") +
           R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"},
      {"no gap", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})"},
      {"the file at 4", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})"},
  };
  for (const auto& [reason, header] : cases) {
    const std::string message = rejection(with_header(header, "abcd"));
    EXPECT_NE(message.find(reason), std::string::npos) << header << "\n  gave: " << message;
  }
  std::string huge = with_header("{}");
  std::memset(huge.data(), 0xff, 8);
  EXPECT_NE(rejection(huge).find("the limit is"), std::string::npos);
}

TEST(SafeTensors, WriterRefusesWhatItCouldNotReadBack) {
  const TempFolder temp;
  const std::string four = "abcd";
  EXPECT_THROW(write_safetensors(temp / "w", {{"a", "F32", {2}, four}}), Error);
  EXPECT_THROW(write_safetensors(temp / "w", {{"a", "F99", {1}, four}}), Error);
  EXPECT_THROW(write_safetensors(temp / "w", {{"__metadata__", "F32", {1}, four}}), Error);
  EXPECT_THROW(write_safetensors(temp / "w", {{"\xff", "F32", {1}, four}}), Error);
  EXPECT_THROW(write_safetensors(temp / "w", {{"a", "F32", {1}, four}, {"a", "F32", {1}, four}}),
               Error);
  EXPECT_TRUE(core::fs::is_empty(temp.path()));
}

TEST(SafeTensors, FullDiskKeepsThePreviousCheckpoint) {
  const TempFolder temp;
  const std::string before = sample_file(temp / "w");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{65536, 65536};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string large(1 << 20, 'x');
    try {
      write_safetensors(temp / "w", {{"a", "U8", {1 << 20}, large}});
    } catch (const Error&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(core::read_file(temp / "w"), before);
  EXPECT_EQ(
      std::distance(core::fs::directory_iterator(temp.path()), core::fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace adagp::io
