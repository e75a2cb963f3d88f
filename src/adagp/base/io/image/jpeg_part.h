#pragma once
// A part of a JPEG file, without the time the rest would take.

#include <optional>
#include <string>
#include <string_view>

#include "adagp/base/io/image/image.h"

namespace adagp::io {

// The wanted pixels equal those of a whole decoding. Nothing where no part is wanted, and where
// libjpeg has anything to remark about the file: what that means is for the whole decoding to say,
// and so are colours other than RGB and grey. Always nothing in a program without libjpeg-turbo.
std::optional<Decoded> decode_jpeg_part(std::string_view bytes, const std::string& name,
                                        const PixelsFor& pixels_for, const WantedFor& wanted_for);

}  // namespace adagp::io
