#include "adagp/sim/exchange/formats.h"

#include <array>
#include <regex>
#include <set>

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

namespace {

// "012.layer1.0.conv1.forward.yaml", "forward.csv": a file of one product or pass.
bool is_product_file(const std::string& format, const std::string& name) {
  static const std::regex passes(R"((forward|input_gradient|weight_gradient)\.csv)");
  static const std::regex products(
      R"([0-9]{3,}\.[^\n]*\.(forward|input_gradient|weight_gradient)\.yaml)");
  if (format == "scalesim") return std::regex_match(name, passes);
  return format == "timeloop" && std::regex_match(name, products);
}

// Of another network: who reads all files of the folder would take them as part of this one.
void remove_others(const std::string& format, const std::vector<File>& files,
                   const core::fs::path& folder) {
  std::set<std::string> written;
  for (const File& file : files) written.insert(file.name);
  std::vector<core::fs::path> others;
  for (const auto& entry : core::fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > 255 || written.contains(name)) continue;
    if (is_product_file(format, name)) others.push_back(entry.path());
  }
  for (const core::fs::path& path : others) core::fs::remove(path);
}

}  // namespace

std::string write_files(const std::string& format, const Request& request,
                        const std::string& folder) {
  const Format& found = core::find_named(formats(), format, "unknown format");
  const std::vector<LoopNest> nests = loop_nests(request.table, request.batch, request.rule);
  const std::vector<File> files = found.files(request, nests);
  core::make_folder(folder);
  for (const File& file : files) core::write_file(core::fs::path(folder) / file.name, file.text);
  remove_others(found.name, files, folder);
  return core::cat(folder, ": ", files.size(), " files for ", found.name, ", ", nests.size(),
                   " products\n");
}

}  // namespace adagp::exchange
