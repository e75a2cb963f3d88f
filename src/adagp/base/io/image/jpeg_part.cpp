#include "adagp/base/io/image/jpeg_part.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>

#ifdef ADAGP_HAVE_JPEG
#include <jpeglib.h>
#endif

#include "adagp/base/io/image/png.h"

namespace adagp::io {

// The original libjpeg knows no parts.
#if defined(ADAGP_HAVE_JPEG) && defined(LIBJPEG_TURBO_VERSION_NUMBER) && \
    LIBJPEG_TURBO_VERSION_NUMBER >= 2000000
namespace {

// One decoding. libjpeg leaves errors by longjmp, so what must be destroyed lives out here.
struct JpegReader {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jmp_buf out;
  std::vector<uint8_t*> rows;

  ~JpegReader() { jpeg_destroy_decompress(&info); }
};

[[noreturn]] void jpeg_leave(j_common_ptr info) {
  std::longjmp(static_cast<JpegReader*>(info->client_data)->out, 1);
}

void jpeg_remark(j_common_ptr info, int level) {
  if (level < 0) jpeg_leave(info);  // a warning: something is missing or odd
}

// False after an error or a warning, as in all of these. No object with a destructor may live in
// here.
bool jpeg_begin(JpegReader& reader, std::string_view bytes) {
  if (setjmp(reader.out) != 0) return false;
  jpeg_create_decompress(&reader.info);
  jpeg_mem_src(&reader.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  if (jpeg_read_header(&reader.info, TRUE) != JPEG_HEADER_OK) return false;
  const auto colours = reader.info.jpeg_color_space;
  return colours == JCS_YCbCr || colours == JCS_RGB || colours == JCS_GRAYSCALE;
}

// Blocks of files that end before their last refinement are smoothed by libjpeg, each with its
// neighbours.
bool would_smooth(const jpeg_decompress_struct& info) {
  if (info.coef_bits == nullptr) return false;
  for (int c = 0; c < info.num_components; ++c) {
    for (int i = 1; i < DCTSIZE2; ++i) {
      if (info.coef_bits[c][i] != 0) return true;
    }
  }
  return false;
}

// libjpeg widens the columns to the left to whole blocks. Colours are stored coarser than
// brightness and a pixel's come from its neighbours too, hence the columns beside.
bool jpeg_start(JpegReader& reader, const Wanted& wanted, JDIMENSION& left, JDIMENSION& width) {
  if (setjmp(reader.out) != 0) return false;
  jpeg_decompress_struct& info = reader.info;
  info.out_color_space = JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(wanted.reduction);
  info.dct_method = JDCT_ISLOW;  // the accurate one, as for a whole image
  if (!jpeg_start_decompress(&info) || would_smooth(info)) return false;
  constexpr JDIMENSION kBeside = 4;
  const auto begin = static_cast<JDIMENSION>(wanted.part.left);
  const JDIMENSION end = begin + static_cast<JDIMENSION>(wanted.part.width);
  left = begin > kBeside ? begin - kBeside : 0;
  width = std::min(end + kBeside, info.output_width) - left;
  if (width < info.output_width) jpeg_crop_scanline(&info, &left, &width);
  return true;
}

bool jpeg_rows(JpegReader& reader, JDIMENSION top) {
  if (setjmp(reader.out) != 0) return false;
  jpeg_decompress_struct& info = reader.info;
  if (top > 0 && jpeg_skip_scanlines(&info, top) != top) return false;
  const JDIMENSION end = top + static_cast<JDIMENSION>(reader.rows.size());
  while (info.output_scanline < end) {
    const JDIMENSION done = info.output_scanline - top;
    if (jpeg_read_scanlines(&info, reader.rows.data() + done, end - info.output_scanline) == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool have_jpeg_parts() {
  return true;
}

std::optional<Decoded> decode_jpeg_part(std::string_view bytes, const std::string& name,
                                        const PixelsFor& pixels_for, const WantedFor& wanted_for) {
  JpegReader reader;
  reader.info.err = jpeg_std_error(&reader.errors);
  reader.info.client_data = &reader;
  reader.errors.error_exit = jpeg_leave;
  reader.errors.emit_message = jpeg_remark;
  if (!jpeg_begin(reader, bytes)) return {};

  // What is cut off behind the part would pass unseen. Among coded pixels the mark that ends a file
  // cannot stand by chance.
  const size_t pixels_at = bytes.size() - reader.info.src->bytes_in_buffer;
  const size_t mark = bytes.rfind("\xff\xd9");
  if (mark == bytes.npos || mark < pixels_at) return {};

  check_image_size(reader.info.image_width, reader.info.image_height, bytes.size(), name);
  Decoded decoded{{reader.info.image_height, reader.info.image_width}, 1, {}};
  const Wanted wanted = wanted_for(decoded.whole);
  decoded.reduction = wanted.reduction;
  const ImageSize reduced = decoded.reduced();
  if (wanted.part.height == 0 || wanted.part == Part{0, 0, reduced.height, reduced.width}) {
    return {};
  }

  JDIMENSION left = 0, width = 0;
  if (!jpeg_start(reader, wanted, left, width)) return {};
  decoded.part = {wanted.part.top, left, wanted.part.height, width};
  uint8_t* rgb = pixels_for({decoded.part.height, decoded.part.width});
  for (int64_t y = 0; y < decoded.part.height; ++y) {
    reader.rows.push_back(rgb + y * decoded.part.width * 3);
  }
  if (!jpeg_rows(reader, static_cast<JDIMENSION>(wanted.part.top))) return {};
  return decoded;
}

#else

bool have_jpeg_parts() {
  return false;
}

std::optional<Decoded> decode_jpeg_part(std::string_view, const std::string&, const PixelsFor&,
                                        const WantedFor&) {
  return {};
}

#endif

}  // namespace adagp::io
