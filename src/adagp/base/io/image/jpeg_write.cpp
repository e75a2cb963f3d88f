#include <memory>

#ifdef ADAGP_HAVE_TURBOJPEG
#include <turbojpeg.h>
#endif

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/image/image.h"

namespace adagp::io {

#ifdef ADAGP_HAVE_TURBOJPEG
void write_jpeg(const std::string& path, const Image& image, int quality) {
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long count = 0;
  const int failed = tjCompress2(handle.get(), image.rgb.data(), static_cast<int>(image.width), 0,
                                 static_cast<int>(image.height), TJPF_RGB, &bytes, &count,
                                 TJSAMP_444, quality, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes, tjFree);
  if (failed != 0) {
    throw Error(core::cat(path, ": JPEG of ", image.width, "x", image.height,
                          " pixels cannot be made: ", tjGetErrorStr2(handle.get())));
  }
  core::write_file(path, {reinterpret_cast<const char*>(bytes), count});
}
#else
void write_jpeg(const std::string& path, const Image&, int) {
  throw Error(path + ": this program was built without TurboJPEG and writes no JPEG files");
}
#endif

}  // namespace adagp::io
