#pragma once
// JPEG and PNG files to pixels.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adagp::io {

struct Image {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> rgb;  // height x width x 3
};

bool is_image_name(const std::string& name);  // .jpg .jpeg .png, any case
// Throws DataError naming the file and the decoder's reason; grey and alpha images become RGB.
Image decode_image(std::string_view bytes, const std::string& name);
void write_png(const std::string& path, const Image& image);

// The optional libraries this program was built with, for `adagp doctor`.
bool have_jpeg();
bool have_png();

}  // namespace adagp::io
