#include "adagp/base/io/image/png.h"

#include <csetjmp>
#include <cstring>

#ifdef ADAGP_HAVE_PNG
#include <png.h>
#endif

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"

namespace adagp::io {

#ifdef ADAGP_HAVE_PNG
namespace {

// One decoding. libpng leaves errors by longjmp, so what must be destroyed lives out here.
struct PngReader {
  std::string_view left;
  std::string error;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<png_bytep> rows;

  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void png_failed(png_structp png, png_const_charp message) {
  static_cast<PngReader*>(png_get_error_ptr(png))->error = message;
  png_longjmp(png, 1);
}

void png_ignore(png_structp, png_const_charp) {}

void png_more(png_structp png, png_bytep out, size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (reader->left.size() < count) png_error(png, "the data end too early");
  std::memcpy(out, reader->left.data(), count);
  reader->left.remove_prefix(count);
}

// False after an error. No object with a destructor may live in here.
bool png_begin(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);  // palettes, 1-, 2- and 4-bit grey, transparent colours
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool png_finish(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, reader.rows.data());
  png_read_end(reader.png, nullptr);
  return true;
}

}  // namespace

bool have_png() {
  return true;
}

ImageSize decode_png(std::string_view bytes, const std::string& name, const PixelsFor& pixels_for) {
  PngReader reader;
  reader.left = bytes;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, png_failed, png_ignore);
  if (reader.png == nullptr) throw Error(name + ": libpng cannot be started");
  reader.info = png_create_info_struct(reader.png);
  png_set_read_fn(reader.png, &reader, png_more);
  const auto fail = [&] {
    throw DataError(core::cat(name, ": PNG cannot be decoded: ", reader.error, " (", bytes.size(),
                              " bytes): the file is cut off or corrupt; replace it"));
  };
  if (!png_begin(reader)) fail();

  const ImageSize size{png_get_image_height(reader.png, reader.info),
                       png_get_image_width(reader.png, reader.info)};
  check_image_size(size.width, size.height, bytes.size(), name);
  const int64_t stride = size.width * 3;
  if (png_get_rowbytes(reader.png, reader.info) != static_cast<size_t>(stride)) fail();
  uint8_t* rgb = pixels_for(size);
  for (int64_t y = 0; y < size.height; ++y) reader.rows.push_back(rgb + stride * y);
  if (!png_finish(reader)) fail();
  return size;
}

void write_png(const std::string& path, const Image& image) {
  if (image.rgb.empty() || image.rgb.size() != static_cast<size_t>(image.height) *
                                                   static_cast<size_t>(image.width) * 3) {
    throw Error(core::cat(path, ": ", image.rgb.size(), " bytes given for ", image.width, " x ",
                          image.height, " pixels"));
  }
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(header), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, image.rgb.data(), 0, nullptr) ==
      0) {
    throw Error(core::cat(path, ": PNG cannot be encoded: ", header.message));
  }
  core::write_file(path, std::string_view(bytes).substr(0, size));
}

#else

bool have_png() {
  return false;
}

ImageSize decode_png(std::string_view, const std::string& name, const PixelsFor&) {
  throw DataError(name +
                  ": this program was built without libpng; install libpng-dev and build again");
}

void write_png(const std::string& path, const Image&) {
  throw Error(path + ": this program was built without libpng; install libpng-dev and build again");
}

#endif

}  // namespace adagp::io
