#include "adagp/lab/doctor/examine.h"

#include <torch/version.h>

#include "adagp/base/core/text.h"
#include "adagp/base/io/archive.h"
#include "adagp/base/io/image/image.h"
#include "adagp/engine/data/sets/voc_annotation.h"
#include "adagp/lab/doctor/engine.h"
#include "adagp/lab/doctor/hardware.h"
#include "adagp/teams/comm/group.h"

namespace adagp::doctor {
namespace {

Check compiler_check() {
#if defined(__clang__)
  return {"compiler", Health::kOk, __VERSION__, ""};
#else
  return {"compiler", Health::kOk, core::cat("GCC ", __VERSION__), ""};
#endif
}

Check processes_check() {
  const auto backends = comm::backends();
  const std::string no_gloo = comm::why_no_gloo();
  return {"several processes", no_gloo.empty() ? Health::kOk : Health::kWarn,
          backends.empty() ? "not built in" : core::join(backends, ", ") + " built in",
          no_gloo.empty() ? "" : "no --parallel on CPUs: " + no_gloo};
}

std::vector<Check> file_format_checks() {
  return {
      library_check("JPEG (TurboJPEG)", io::have_jpeg(), "no .jpg images in data sets",
                    "libturbojpeg0-dev"),
      library_check("JPEG, parts (libjpeg)", io::have_jpeg_parts(), "image folders load slower",
                    "libjpeg-dev"),
      library_check("PNG (libpng)", io::have_png(), "no .png images in data sets", "libpng-dev"),
      library_check("archives (libarchive)", io::have_archive(),
                    "no data sets inside .tar, .tar.gz, .tar.xz, .zip; unpack them",
                    "libarchive-dev"),
      library_check("XML (pugixml)", data::have_xml(), "no Pascal VOC annotations",
                    "libpugixml-dev"),
  };
}

void append(std::vector<Check>& checks, const std::vector<Check>& more) {
  checks.insert(checks.end(), more.begin(), more.end());
}

}  // namespace

std::vector<Check> examine(const std::string& version) {
  std::vector<Check> checks;
  checks.push_back({"adagp", Health::kOk, version, ""});
  checks.push_back(compiler_check());
  checks.push_back({"LibTorch", Health::kOk, TORCH_VERSION, ""});
  checks.push_back(cpu_check());
  append(checks, nvpl_checks());
  checks.push_back(cpu_training_check());
  append(checks, gpu_checks());
  checks.push_back(processes_check());
  append(checks, file_format_checks());
  checks.push_back(memory_check());
  checks.push_back(disk_check());
  return checks;
}

}  // namespace adagp::doctor
