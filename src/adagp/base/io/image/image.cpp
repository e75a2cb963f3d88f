#include "adagp/base/io/image/image.h"

#include <memory>

#ifdef ADAGP_HAVE_TURBOJPEG
#include <turbojpeg.h>
#endif

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/image/jpeg_part.h"
#include "adagp/base/io/image/png.h"

namespace adagp::io {
namespace {

using core::cat;

#ifdef ADAGP_HAVE_TURBOJPEG
struct JpegClose {
  void operator()(void* handle) const { tjDestroy(handle); }
};

// libjpeg reports a cut-off file as a mere warning and fills up with grey, and TurboJPEG gives an
// error after a warning the code of the warning. So the few harmless messages are known by name:
// stray bytes and odd headers, common in old collections. Only the first one is told, hence the
// look for the mark that ends a whole file.
bool nothing_lost(const std::string& message, std::string_view bytes) {
  for (const char* harmless : {"extraneous bytes", "Unknown Adobe color transform",
                               "unknown JFIF revision", "Invalid SOS parameters for sequential"}) {
    if (message.find(harmless) != std::string::npos) return bytes.find("\xff\xd9") != bytes.npos;
  }
  return false;
}

// Printers' inks as Adobe stores them: 255 is no ink.
void cmyk_to_rgb(const std::vector<uint8_t>& cmyk, uint8_t* rgb) {
  for (size_t i = 0; i < cmyk.size() / 4; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      rgb[3 * i + c] = static_cast<uint8_t>((cmyk[4 * i + c] * cmyk[4 * i + 3] + 127) / 255);
    }
  }
}

// One per thread: making one costs as much as decoding a small image. One that met an error is
// given up, because what it then keeps (tables, the message) would speak of the next image.
std::unique_ptr<void, JpegClose>& decompressor() {
  thread_local std::unique_ptr<void, JpegClose> handle;
  if (!handle) handle.reset(tjInitDecompress());
  return handle;
}

// The accurate transform: training data should not depend on the processor. A progressive file of
// thousands of scans takes minutes to decode; none needs more than some ten.
#ifdef TJFLAG_LIMITSCANS
constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
#else
constexpr int kFlags = TJFLAG_ACCURATEDCT;
#endif

Decoded decode_jpeg(std::string_view bytes, const std::string& name, const PixelsFor& pixels_for,
                    const WantedFor& wanted_for) {
  void* handle = decompressor().get();
  bool trouble = false;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto meet_error = [&](const char* what) {
    trouble = true;
    if (nothing_lost(tjGetErrorStr2(handle), bytes)) return;
    const std::string why = tjGetErrorStr2(handle);
    decompressor().reset();
    throw DataError(cat(name, ": JPEG ", what, ": ", why, " (", bytes.size(),
                        " bytes): the file is cut off or corrupt; replace it"));
  };
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(handle, data, bytes.size(), &width, &height, &subsampling, &colours) !=
      0) {
    meet_error("header cannot be read");
  }
  check_image_size(width, height, bytes.size(), name);
  const ImageSize whole{height, width};
  const tjscalingfactor factor{1, wanted_for(whole).reduction};
  const ImageSize size{TJSCALED(height, factor), TJSCALED(width, factor)};
  const bool inks = colours == TJCS_CMYK || colours == TJCS_YCCK;
  const int format = inks ? TJPF_CMYK : TJPF_RGB;
  std::vector<uint8_t> cmyk(inks ? static_cast<size_t>(size.height * size.width * 4) : 0);
  uint8_t* rgb = pixels_for(size);
  if (tjDecompress2(handle, data, bytes.size(), inks ? cmyk.data() : rgb,
                    static_cast<int>(size.width), 0, static_cast<int>(size.height), format,
                    kFlags) != 0) {
    meet_error("cannot be decoded");
  }
  if (trouble) decompressor().reset();
  if (inks) cmyk_to_rgb(cmyk, rgb);
  return {whole, factor.denom, {0, 0, size.height, size.width}};
}
#else
Decoded decode_jpeg(std::string_view, const std::string& name, const PixelsFor&, const WantedFor&) {
  throw DataError(name +
                  ": this program was built without TurboJPEG; install libturbojpeg0-dev "
                  "(Debian) or libturbojpeg-dev (Ubuntu) and build again");
}
#endif

}  // namespace

bool have_jpeg() {
#ifdef ADAGP_HAVE_TURBOJPEG
  return true;
#else
  return false;
#endif
}

bool is_image_name(const std::string& name) {
  const std::string small = core::lower(name);
  return small.ends_with(".jpg") || small.ends_with(".jpeg") || small.ends_with(".png");
}

void check_image_size(int64_t width, int64_t height, size_t file_bytes, const std::string& name) {
  constexpr int64_t kMaxSide = 65535, kMaxPixels = int64_t{1} << 27;
  // PNG reaches this with one bit a pixel (a byte of deflate stands for at most 1032 bytes); JPEG
  // spends at least a bit on 64 pixels.
  constexpr int64_t kMostPerByte = 8 * 1032;
  const std::string claim = cat(name, ": the image claims ", width, " x ", height, " pixels");
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide ||
      width * height > kMaxPixels) {
    throw DataError(cat(claim, "; the limit is ", kMaxSide, " a side and ", kMaxPixels, " in all"));
  }
  if (width * height / kMostPerByte > static_cast<int64_t>(file_bytes)) {
    throw DataError(cat(claim, ", which no file of ", file_bytes,
                        " bytes can hold: it is cut off or corrupt; replace it"));
  }
}

Decoded decode_image(std::string_view bytes, const std::string& name, const PixelsFor& pixels_for,
                     const WantedFor& wanted_for) {
  if (bytes.starts_with("\xff\xd8\xff")) {
    const auto partly = decode_jpeg_part(bytes, name, pixels_for, wanted_for);
    return partly ? *partly : decode_jpeg(bytes, name, pixels_for, wanted_for);
  }
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) {
    const ImageSize size = decode_png(bytes, name, pixels_for);
    return {size, 1, {0, 0, size.height, size.width}};
  }
  throw DataError(cat(name, ": neither JPEG nor PNG (", bytes.size(),
                      " bytes): the file is cut off or of another format"));
}

Image decode_image(std::string_view bytes, const std::string& name) {
  Image image;
  decode_image(
      bytes, name,
      [&](const ImageSize& size) {
        image.height = size.height;
        image.width = size.width;
        image.rgb.resize(static_cast<size_t>(size.height * size.width * 3));
        return image.rgb.data();
      },
      [](const ImageSize&) { return Wanted{}; });
  return image;
}

}  // namespace adagp::io
