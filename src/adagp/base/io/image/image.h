#pragma once
// JPEG and PNG files to pixels.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace adagp::io {

struct Image {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> rgb;  // height x width x 3
};

bool is_image_name(const std::string& name);  // .jpg .jpeg .png, any case
struct ImageSize {
  int64_t height = 0, width = 0;
};
// Pixels of an image, counted from its upper left corner.
struct Part {
  int64_t top = 0, left = 0, height = 0, width = 0;

  friend bool operator==(const Part&, const Part&) = default;
};
// What the caller needs of an image.
struct Wanted {
  int reduction = 1;  // 1, 2, 4 or 8: how many times smaller; sides are rounded up
  Part part;          // of the reduced image; without height: all of it
};
// Told the size of the whole image before it is decoded. A pure function: it may be asked twice.
using WantedFor = std::function<Wanted(const ImageSize&)>;
// What was decoded, which is at least what was wanted: JPEG files are reduced and left out in
// parts, because that is quicker; other formats are always whole. Pixels beside the wanted part may
// have the colours of a picture that ends there.
struct Decoded {
  ImageSize whole;
  int reduction = 1;
  Part part;  // of the reduced image

  ImageSize reduced() const {
    return {(whole.height + reduction - 1) / reduction, (whole.width + reduction - 1) / reduction};
  }
};
// Where pixels of this size go: height x width x 3 bytes. The last answer counts.
using PixelsFor = std::function<uint8_t*(const ImageSize&)>;

// Throws DataError naming the file and the decoder's reason; grey and alpha images become RGB.
Image decode_image(std::string_view bytes, const std::string& name);
// The same into the caller's memory.
Decoded decode_image(std::string_view bytes, const std::string& name, const PixelsFor& pixels_for,
                     const WantedFor& wanted_for);
void write_png(const std::string& path, const Image& image);
// Full colour resolution. Throws Error without TurboJPEG, see have_jpeg().
void write_jpeg(const std::string& path, const Image& image, int quality = 95);

// The optional libraries this program was built with, for `adagp doctor`.
bool have_jpeg();
bool have_jpeg_parts();  // and libjpeg-turbo's own interface
bool have_png();

}  // namespace adagp::io
