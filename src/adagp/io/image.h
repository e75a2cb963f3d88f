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
// Where the pixels of an image of this size go: height x width x 3 bytes.
using PixelsFor = std::function<uint8_t*(const ImageSize&)>;
// Of the whole image, told before it is decoded; answers 1, 2, 4 or 8: how many times smaller a
// JPEG is decoded, which is quicker (sides are rounded up). Other formats are always whole.
using ReductionFor = std::function<int(const ImageSize&)>;

// Throws DataError naming the file and the decoder's reason; grey and alpha images become RGB.
Image decode_image(std::string_view bytes, const std::string& name);
// The same into the caller's memory. Returns the size of the whole image.
ImageSize decode_image(std::string_view bytes, const std::string& name, const PixelsFor& pixels_for,
                       const ReductionFor& reduction_for);
void write_png(const std::string& path, const Image& image);
// Full colour resolution. Throws Error without TurboJPEG, see have_jpeg().
void write_jpeg(const std::string& path, const Image& image, int quality = 95);

// The optional libraries this program was built with, for `adagp doctor`.
bool have_jpeg();
bool have_png();

}  // namespace adagp::io
