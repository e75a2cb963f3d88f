// Does a part of a JPEG file have the pixels of the whole, and is a damaged file still refused?

#include "adagp/base/io/image/jpeg_part.h"

#include <gtest/gtest.h>

#include <cstdlib>

#ifdef ADAGP_HAVE_TURBOJPEG
#include <turbojpeg.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"

namespace adagp::io {
namespace {

struct Kind {
  const char* name;
  int sampling;
  bool progressive = false, restarts = false;
  int format = TJPF_RGB;
};

const Kind kKinds[] = {{"4:4:4", TJSAMP_444},
                       {"4:2:2", TJSAMP_422},
                       {"4:2:0", TJSAMP_420},
                       {"4:4:0", TJSAMP_440},
                       {"4:1:1", TJSAMP_411},
                       {"grey", TJSAMP_GRAY},
                       {"4:2:0 progressive", TJSAMP_420, true},
                       {"4:2:2 progressive", TJSAMP_422, true},
                       {"grey progressive", TJSAMP_GRAY, true},
                       {"4:2:0 with restarts", TJSAMP_420, false, true},
                       {"4:4:4 progressive with restarts", TJSAMP_444, true, true}};

// Noise over a ramp, so that every pixel differs from its neighbours and every block has detail.
std::string make_jpeg(const Kind& kind, int height, int width) {
  core::Rng rng(static_cast<uint64_t>(height * 1000 + width));
  const int channels = tjPixelSize[kind.format];
  std::vector<uint8_t> pixels(static_cast<size_t>(height * width * channels));
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(200 * i / pixels.size() + static_cast<size_t>(rng.below(56)));
  }
  if (kind.restarts) ::setenv("TJ_RESTART", "5B", 1);  // a mark every five blocks
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long count = 0;
  const int failed =
      tjCompress2(handle.get(), pixels.data(), width, 0, height, kind.format, &bytes, &count,
                  kind.sampling, 90, kind.progressive ? TJFLAG_PROGRESSIVE : 0);
  ::unsetenv("TJ_RESTART");
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes, tjFree);
  EXPECT_EQ(failed, 0) << kind.name;
  return {reinterpret_cast<const char*>(bytes), count};
}

struct Outcome {
  Decoded decoded;
  std::vector<uint8_t> rgb;
};

Outcome decode(const std::string& bytes, const Wanted& wanted) {
  Outcome out;
  out.decoded = decode_image(
      bytes, "x.jpg",
      [&](const ImageSize& size) {
        out.rgb.assign(static_cast<size_t>(size.height * size.width * 3), 0);
        return out.rgb.data();
      },
      [&](const ImageSize&) { return wanted; });
  return out;
}

// The part's pixels, wherever in the decoded ones they are.
std::vector<uint8_t> cut_out(const Outcome& from, const Part& part) {
  std::vector<uint8_t> out;
  for (int64_t y = part.top; y < part.top + part.height; ++y) {
    const auto row = from.rgb.begin() + ((y - from.decoded.part.top) * from.decoded.part.width +
                                         part.left - from.decoded.part.left) *
                                            3;
    out.insert(out.end(), row, row + part.width * 3);
  }
  return out;
}

Part draw_part(core::Rng& rng, const ImageSize& size) {
  const int64_t top = rng.below(size.height), left = rng.below(size.width);
  return {top, left, 1 + rng.below(size.height - top), 1 + rng.below(size.width - left)};
}

TEST(JpegPart, EqualsTheWhole) {
  if (!have_jpeg_parts()) GTEST_SKIP() << "built without libjpeg-turbo";
  core::Rng rng(7);
  for (const Kind& kind : kKinds) {
    for (const auto& [height, width] : {std::pair{61, 97}, {64, 48}, {17, 33}, {203, 301}}) {
      const std::string bytes = make_jpeg(kind, height, width);
      EXPECT_EQ(bytes.find("\xff\xd0") != bytes.npos, kind.restarts) << kind.name;
      for (const int reduction : {1, 2, 4, 8}) {
        const Outcome whole = decode(bytes, {reduction, {}});
        const ImageSize size = whole.decoded.reduced();
        ASSERT_EQ(whole.decoded.part, (Part{0, 0, size.height, size.width}));
        for (int i = 0; i < 40; ++i) {
          const Part part = draw_part(rng, size);
          const Outcome some = decode(bytes, {reduction, part});
          ASSERT_EQ(some.decoded.part.height, part.height);  // no more rows than asked for
          ASSERT_EQ(cut_out(some, part), cut_out(whole, part))
              << kind.name << ", " << width << "x" << height << " / " << reduction << ": "
              << part.width << "x" << part.height << " at " << part.left << "," << part.top;
        }
      }
    }
  }
}

TEST(JpegPart, LeavesOutColumnsToo) {
  if (!have_jpeg_parts()) GTEST_SKIP() << "built without libjpeg-turbo";
  const Outcome some = decode(make_jpeg(kKinds[2], 64, 400), {1, {8, 200, 40, 50}});
  EXPECT_GE(some.decoded.part.left, 200 - 32);  // two blocks of 16 at most beside it
  EXPECT_LE(some.decoded.part.width, 50 + 64);
}

// A cut behind the part would pass unseen, and so it would when the mark of a small picture in the
// header were taken for the end of the file.
TEST(JpegPart, CutFilesAreRefused) {
  for (const Kind& kind : kKinds) {
    std::string bytes = make_jpeg(kind, 64, 48);
    bytes.insert(2, std::string("\xff\xe1\x00\x08\xff\xd8\xff\xd9xx", 10));
    const Part part{0, 0, 8, 48};
    ASSERT_EQ(cut_out(decode(bytes, {1, part}), part), cut_out(decode(bytes, {}), part));
    for (size_t length = 3; length < bytes.size(); length += 1 + bytes.size() / 60) {
      EXPECT_THROW(decode(bytes.substr(0, length), {1, part}), DataError)
          << kind.name << " cut to " << length << " of " << bytes.size();
    }
    EXPECT_THROW(decode(bytes.substr(0, bytes.size() - 2), {1, part}), DataError) << kind.name;
  }
}

// What the quick way does not know is decoded whole: printers' inks, stray bytes between segments.
TEST(JpegPart, OddFilesAreDecodedWhole) {
  const Part part{10, 5, 20, 20};
  const std::string plain = make_jpeg(kKinds[2], 64, 48);
  const std::string stray = plain.substr(0, 20) + std::string(3, '\0') + plain.substr(20);
  const std::string inks = make_jpeg({"inks", TJSAMP_444, false, false, TJPF_CMYK}, 64, 48);
  for (const std::string& bytes : {stray, inks}) {
    const Outcome some = decode(bytes, {1, part});
    EXPECT_EQ(some.decoded.part, (Part{0, 0, 64, 48}));
    EXPECT_EQ(some.rgb, decode(bytes, {}).rgb);
  }
  EXPECT_EQ(decode(stray, {}).rgb, decode(plain, {}).rgb);
}

// No damage may do more than throw; under AddressSanitizer this looks for leaks and overruns.
TEST(JpegPart, DamageIsSurvived) {
  core::Rng rng(3);
  for (const Kind& kind : kKinds) {
    const std::string whole = make_jpeg(kind, 61, 97);
    for (int i = 0; i < 200; ++i) {
      std::string bytes = whole;
      for (int k = 0; k < 3; ++k) {
        bytes[static_cast<size_t>(rng.below(static_cast<int64_t>(bytes.size())))] =
            static_cast<char>(rng.below(256));
      }
      try {
        decode(bytes, {1 << rng.below(4), {1, 2, 3, 4}});
      } catch (const DataError&) {
      }
    }
  }
}

}  // namespace
}  // namespace adagp::io
#endif
