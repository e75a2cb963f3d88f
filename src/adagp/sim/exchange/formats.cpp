#include "adagp/sim/exchange/formats.h"

#include <array>

#include "adagp/base/core/files.h"
#include "adagp/base/core/lookup.h"

namespace adagp::exchange {

std::span<const Format> formats() {
  static constexpr std::array kFormats = {
      Format{"scalesim", "SCALE-Sim: a topology for each pass, a configuration", scalesim_files},
      Format{"timeloop", "Timeloop 0.4: a problem for each product, an architecture",
             timeloop_files},
      Format{"zigzag", "ZigZag: a workload, a mapping, an accelerator", zigzag_files},
  };
  return kFormats;
}

std::string write_files(const std::string& format, const Request& request,
                        const std::string& folder) {
  const Format& found = core::find_named(formats(), format, "unknown format");
  const std::vector<LoopNest> nests = loop_nests(request.table, request.batch, request.rule);
  const std::vector<File> files = found.files(request, nests);
  core::make_folder(folder);
  for (const File& file : files) core::write_file(core::fs::path(folder) / file.name, file.text);
  return core::cat(folder, ": ", files.size(), " files for ", found.name, ", ", nests.size(),
                   " products\n");
}

}  // namespace adagp::exchange
