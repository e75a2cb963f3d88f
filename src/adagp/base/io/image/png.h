#pragma once
// The PNG half of image/image.h.

#include <string>
#include <string_view>

#include "adagp/base/io/image/image.h"

namespace adagp::io {

ImageSize decode_png(std::string_view bytes, const std::string& name, const PixelsFor& pixels_for);

// Throws DataError when no honest image is that large, or none in a file of so many bytes.
void check_image_size(int64_t width, int64_t height, size_t file_bytes, const std::string& name);

}  // namespace adagp::io
