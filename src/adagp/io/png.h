#pragma once
// The PNG half of io/image.h.

#include <string>
#include <string_view>

#include "adagp/io/image.h"

namespace adagp::io {

Image decode_png(std::string_view bytes, const std::string& name);

// Throws DataError when no honest image is that large.
void check_image_size(int64_t width, int64_t height, const std::string& name);

}  // namespace adagp::io
