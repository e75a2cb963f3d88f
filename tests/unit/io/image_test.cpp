#include "adagp/base/io/image/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::io {
namespace {

using testing::TempFolder;

Image pattern(int64_t height, int64_t width) {
  Image out{height, width, {}};
  for (int64_t i = 0; i < height * width * 3; ++i) {
    out.rgb.push_back(static_cast<uint8_t>(i * 37 + i / 7));
  }
  return out;
}

std::string rejection_of(const std::string& bytes, const std::string& name) {
  try {
    decode_image(bytes, name);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(Image, NamesAreRecognisedInAnyCase) {
  for (const char* name : {"a.jpg", "b.JPEG", "c.PNG", "n01.tar/x.JPG"}) {
    EXPECT_TRUE(is_image_name(name)) << name;
  }
  for (const char* name : {"a.gif", "jpg", "a.jpg.txt", ""}) EXPECT_FALSE(is_image_name(name));
}

TEST(Image, PngRoundTripIsExact) {
  if (!have_png()) GTEST_SKIP() << "built without libpng";
  const TempFolder temp;
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{{1, 1}, {3, 5}, {40, 17}}) {
    const Image image = pattern(height, width);
    write_png((temp / "x.png").string(), image);
    const Image back = decode_image(core::read_file(temp / "x.png"), "x.png");
    EXPECT_EQ(back.height, height);
    EXPECT_EQ(back.width, width);
    EXPECT_EQ(back.rgb, image.rgb);
  }
  EXPECT_THROW(write_png((temp / "y.png").string(), Image{2, 2, {1, 2, 3}}), Error);
}

// Every kind of file Pillow writes, against the pixels Pillow reads from it.
TEST(Image, DecodesAsPillowDoes) {
  if (!have_png() || !have_jpeg()) GTEST_SKIP() << "built without libpng or TurboJPEG";
  const TempFolder temp;
  std::istringstream listing(
      testing::run_python("tests/unit/io/python/make_images.py", temp.path().string()));
  std::string name;
  int64_t width = 0, height = 0;
  int tolerance = 0, count = 0;
  while (listing >> name >> width >> height >> tolerance) {
    ++count;
    const Image image = decode_image(core::read_file(temp / name), name);
    const std::string expected = core::read_file(temp / (name + ".rgb"));
    EXPECT_EQ(image.width, width) << name;
    EXPECT_EQ(image.height, height) << name;
    ASSERT_EQ(image.rgb.size(), expected.size()) << name;
    int worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      worst = std::max(worst, std::abs(image.rgb[i] - static_cast<uint8_t>(expected[i])));
    }
    EXPECT_LE(worst, tolerance) << name;
  }
  EXPECT_EQ(count, 13);

  // Stray bytes between segments (the first one ends at byte 20) lose no pixel, a cut does.
  const std::string jpeg = core::read_file(temp / "rgb.jpg");
  const std::string stray = jpeg.substr(0, 20) + std::string(3, '\0') + jpeg.substr(20);
  EXPECT_EQ(decode_image(stray, "x").rgb, decode_image(jpeg, "x").rgb);
  EXPECT_NE(rejection_of(stray.substr(0, stray.size() - 100), "x"), "");

  // Cut off anywhere, each is a DataError that names it; only what follows the last pixel may go.
  for (const char* file : {"rgb.jpg", "progressive.jpg", "rgb.png"}) {
    const std::string whole = core::read_file(temp / file);
    for (size_t length = 0; length + 16 < whole.size(); length += 1 + whole.size() / 200) {
      const std::string message = rejection_of(whole.substr(0, length), file);
      EXPECT_EQ(message.rfind(file, 0), 0u) << file << " cut to " << length << ": " << message;
    }
  }
}

TEST(Image, DamagedPngIsRejected) {
  if (!have_png()) GTEST_SKIP() << "built without libpng";
  const TempFolder temp;
  write_png((temp / "x.png").string(), pattern(9, 9));
  const std::string whole = core::read_file(temp / "x.png");
  const size_t data = whole.find("IDAT");
  ASSERT_NE(data, std::string::npos);
  for (size_t at = data + 4; at < data + 24; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_NE(rejection_of(damaged, "x.png"), "") << at;
  }
}

TEST(Image, AbsurdSizesAreRefusedBeforeAnyAllocation) {
  if (!have_jpeg()) GTEST_SKIP() << "built without TurboJPEG";
  // A JPEG header that claims 65500 x 65500 pixels: 12 GB of RGB.
  const std::string bomb(
      "\xff\xd8\xff\xc0\x00\x11\x08\xff\xdc\xff\xdc\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"
      "\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00",
      35);
  EXPECT_NE(rejection_of(bomb, "bomb.jpg").find("65500 x 65500"), std::string::npos)
      << rejection_of(bomb, "bomb.jpg");
}

// 12000 x 11000 pixels, 396 MB of RGB, in files of a few dozen bytes.
TEST(Image, SizesThatTheFileCannotHoldAreRefusedBeforeAnyAllocation) {
  std::string png("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x2e\xe0\0\0\x2a\xf8\x08\x02\0\0\0", 29);
  png += std::string("\xc5\xed\xbf\x43", 4) + std::string("\0\0\0\0IDAT\x35\xaf\x06\x1e", 12);
  const std::string jpeg(
      "\xff\xd8\xff\xc0\x00\x11\x08\x2a\xf8\x2e\xe0\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"
      "\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00\xff\xd9",
      37);
  const std::string expected = "12000 x 11000 pixels, which no file of";
  if (have_png()) {
    EXPECT_NE(rejection_of(png, "x").find(expected), std::string::npos) << rejection_of(png, "x");
  }
  if (have_jpeg()) {
    EXPECT_NE(rejection_of(jpeg, "x").find(expected), std::string::npos) << rejection_of(jpeg, "x");
  }
}

TEST(Image, OtherBytesAreNamed) {
  EXPECT_NE(rejection_of("", "empty.jpg").find("empty.jpg: neither JPEG nor PNG"),
            std::string::npos);
  EXPECT_NE(rejection_of("GIF89a", "x.png").find("neither"), std::string::npos);
}

}  // namespace
}  // namespace adagp::io
