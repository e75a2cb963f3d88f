// Trace files: what is written is read, and every defect has a name.

#include "adagp/sim/arrays/trace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/io/safetensors.h"
#include "adagp/sim/arrays/given.h"
#include "unit/arrays/made_traces.h"
#include "unit/temp_folder.h"

namespace adagp::arrays {
namespace {

struct Content {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

// One linear layer, 9 features to 2, two examples.
class TraceFile : public ::testing::Test {
 protected:
  TraceFile() {
    tensors = {{"fc/x.bits", {"U8", {2, 1, 1, 2}, std::string("\x0f\x01\xf0\x00", 4)}},
               {"fc/dy.bits", {"U8", {2, 1, 1, 1}, std::string("\x01\x03", 2)}},
               {"fc/w.bits", {"U8", {2, 1, 1, 2}, std::string("\xff\x01\x00\x01", 4)}},
               {"fc/density", {"F32", {3}, bytes_of<float>({0.5F, 0.75F, 1.0F})}},
               {"fc/mantissa", {"U8", {3}, std::string("\x02\x03\x04", 3)}},
               {"fc/shape", {"I64", {3}, bytes_of<int64_t>({9, 2, 9})}}};
    metadata = {{"network", "net"},
                {"input", "made up"},
                {"epoch", "7"},
                {"batch", "64"},
                {"examples", "2"}};
    table.rows = {test::linear_row(9, 2)};
  }

  core::fs::path write(const std::string& name = "trace/e007.safetensors") {
    std::vector<io::TensorBytes> list;
    for (const auto& [key, one] : tensors) list.push_back({key, one.dtype, one.shape, one.bytes});
    core::make_folder((folder / name).parent_path());
    io::write_safetensors(folder / name, list, metadata);
    return folder / name;
  }

  std::string error() {
    try {
      check_trace(read_trace(write()), table);
    } catch (const DataError& e) {
      return e.what();
    }
    return "";
  }

  testing::TempFolder folder;
  std::map<std::string, Content> tensors;
  std::map<std::string, std::string> metadata;
  layers::Table table{"net", "made up", {}, {}};
};

TEST_F(TraceFile, IsReadAsItWasWritten) {
  write();
  const auto files = trace_files(folder.path());
  ASSERT_EQ(files.size(), 1U);
  const Trace trace = read_trace(files[0]);
  EXPECT_EQ(trace.network, "net");
  EXPECT_EQ(trace.epoch, 7);
  EXPECT_EQ(trace.batch, 64);
  ASSERT_EQ(trace.layers.size(), 1U);
  const LayerTrace& fc = *trace.find("fc");
  EXPECT_TRUE(fc.x.at(0, 3));
  EXPECT_FALSE(fc.x.at(0, 4));
  EXPECT_TRUE(fc.x.at(0, 8));
  EXPECT_TRUE(fc.x.at(1, 7));
  EXPECT_EQ(fc.density[1], 0.75);
  EXPECT_EQ((*fc.mantissa)[1], 3);
  // mantissa is W, A, G; density X, dY, W.
  const auto widths = operands_of(table, trace, Reads::kWidths);
  EXPECT_EQ(widths[0].w.mantissa, 2);
  EXPECT_EQ(widths[0].x.mantissa, 3);
  const auto zeros = operands_of(table, trace, Reads::kZeros);
  EXPECT_EQ(zeros[0].of(accel::Pass::kWeightGradient).right.density, 0.75);
  EXPECT_EQ(zeros[0].of(accel::Pass::kForward).right.bits, &fc.w);
}

// Rules that leave layers in fp32 write a width of 0: zeros of such a trace are of use, its widths
// are not.
TEST_F(TraceFile, ALayerInFp32HasAWidthOfZero) {
  tensors["fc/mantissa"].bytes = std::string(3, '\0');
  const Trace trace = read_trace(write());
  EXPECT_EQ((*trace.find("fc")->mantissa)[2], 0);
  EXPECT_EQ(operands_of(table, trace, Reads::kZeros)[0].x.density, trace.find("fc")->density[0]);
  try {
    operands_of(table, trace, Reads::kWidths);
    FAIL() << "fp32 has no cost on machine fast";
  } catch (const DataError& e) {
    EXPECT_NE(std::string(e.what()).find("layer 'fc' was in fp32"), std::string::npos) << e.what();
  }
}

TEST_F(TraceFile, AUseOfALayerHasItsOwnBitsOrThoseOfTheFirst) {
  layers::Row again = table.rows[0];
  again.name = "fc#2";
  const Trace once = read_trace(write());
  EXPECT_EQ(once.find(again), once.find("fc"));
  for (const char* kind : {"x.bits", "dy.bits", "w.bits", "density", "shape"}) {
    tensors[std::string("fc#2/") + kind] = tensors[std::string("fc/") + kind];
  }
  const Trace twice = read_trace(write());
  EXPECT_EQ(twice.find(again)->name, "fc#2");
  again.name = "other#2";
  EXPECT_EQ(twice.find(again), nullptr);
}

// Batches of sentences differ in length, those of the table are of one length.
TEST_F(TraceFile, ALinearLayerMaySeeAnotherNumberOfWords) {
  tensors["fc/x.bits"] = {"U8", {2, 3, 1, 2}, std::string(12, '\1')};
  tensors["fc/dy.bits"] = {"U8", {2, 3, 1, 1}, std::string(6, '\1')};
  EXPECT_NE(error().find("X is 3x1x9, the network has 1x1x9"), std::string::npos) << error();
  table.rows[0].input[2] = table.rows[0].output[2] = 16;
  EXPECT_EQ(error(), "");
  tensors["fc/dy.bits"] = {"U8", {2, 4, 1, 1}, std::string(8, '\1')};
  EXPECT_NE(error().find("expected equal numbers of words"), std::string::npos) << error();
  table.rows[0].input[0] = 10;
  tensors["fc/dy.bits"] = {"U8", {2, 3, 1, 1}, std::string(6, '\1')};
  EXPECT_NE(error().find("X is 3x1x9"), std::string::npos) << error();
}

TEST_F(TraceFile, EpochsComeInTheirOrder) {
  for (const char* epoch : {"12", "3", "1000"}) {
    metadata["epoch"] = epoch;
    write("trace/e" +
          std::string(epoch[1] == 0   ? "00"
                      : epoch[2] == 0 ? "0"
                                      : "") +
          epoch + ".safetensors");
  }
  core::write_file(folder / "trace/notes.txt", "");
  std::vector<int64_t> epochs;
  for (const auto& file : trace_files(folder.path())) epochs.push_back(read_trace(file).epoch);
  EXPECT_EQ(epochs, (std::vector<int64_t>{3, 12, 1000}));
}

TEST_F(TraceFile, EveryDefectHasAName) {
  const auto with = [&](const auto& change, const char* expected) {
    const auto before = tensors;
    const auto before_metadata = metadata;
    change();
    EXPECT_NE(error().find(expected), std::string::npos) << error() << "\nlacks " << expected;
    tensors = before;
    metadata = before_metadata;
  };
  EXPECT_EQ(error(), "");
  with([&] { tensors.erase("fc/density"); }, "layer 'fc' has no tensor 'density'");
  with([&] { tensors["fc/density"].bytes = bytes_of<float>({0.5F, 1.5F, 1}); }, "expected 0 to 1");
  with(
      [&] {
        tensors["fc/density"].bytes = bytes_of<float>({0.5F, std::nanf(""), 1});
      },
      "expected 0 to 1");
  with([&] { tensors["fc/mantissa"].bytes = std::string("\x02\x03\x30", 3); }, "mantissa of 48");
  with([&] { tensors["fc/x.bits"].bytes[1] = '\x02'; }, "a bit beyond channel 8");
  with([&] { tensors["fc/shape"].bytes = bytes_of<int64_t>({20, 2, 9}); }, "20 channels");
  with([&] { tensors["fc/shape"].bytes = bytes_of<int64_t>({0, 2, 9}); }, "0 channels");
  with([&] { tensors["fc/what"] = tensors["fc/mantissa"]; }, "unknown kind");
  with([&] { metadata.erase("batch"); }, "no 'batch'");
  with([&] { metadata["epoch"] = "8"; }, "its metadata say epoch 8, its name 7");
  with([&] { metadata["examples"] = "3"; }, "the metadata say 3");
  with([&] { metadata["examples"] = "many"; }, "expected a whole number");
  with([&] { table.rows.push_back(test::conv_row({})); }, "lacks 1 layers of 'net': conv");
  table.rows = {test::linear_row(9, 3)};
  EXPECT_NE(error().find("does not fit"), std::string::npos) << error();
  EXPECT_THROW(trace_files(folder / "nowhere"), DataError);
  EXPECT_THROW(trace_files(folder / "trace"), DataError);  // a folder without traces
}

TEST(Given, SharesAndWidths) {
  const Sparsity shares = parse_sparsity("w=0.9, x=0.5");
  EXPECT_EQ(shares.x, 0.5);
  EXPECT_EQ(shares.dy, 0);
  EXPECT_EQ(shares.w, 0.9);
  EXPECT_EQ(parse_widths("g=8").g, 8);
  EXPECT_EQ(parse_widths("g=8").w, 4);
  for (const char* bad : {"", "x", "x=", "x=1.5", "x=-0.1", "x=nan", "y=0.5", "x=0.5,x=0.6"}) {
    EXPECT_THROW(parse_sparsity(bad), UsageError) << bad;
  }
  for (const char* bad : {"w=1", "w=9", "w=2.5", "x=2", "w=2,"}) {
    EXPECT_THROW(parse_widths(bad), UsageError) << bad;
  }
}

}  // namespace
}  // namespace adagp::arrays
