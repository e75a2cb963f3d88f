// The user's cache folder: what was measured on a machine, for all runs there.

#include <algorithm>
#include <cstdlib>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/log_once.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/layout_json.h"

namespace adagp::run {
namespace {

using nlohmann::ordered_json;

// Of all machines that share the folder.
std::vector<LayoutRecord> read_all(const core::fs::path& file) {
  std::vector<LayoutRecord> out;
  std::error_code ignored;
  if (file.empty() || !core::fs::exists(file, ignored)) return out;
  try {
    const auto all = core::read_json<ordered_json>(file);
    for (const ordered_json& one : all.at("machines")) out.push_back(record_from(one));
  } catch (const std::exception& error) {
    core::warn_once(core::cat(file.string(), ": damaged (", core::plain_message(error),
                              "): the convolutions are measured again and the file is replaced"));
    out.clear();
  }
  return out;
}

void merge(std::vector<LayoutRecord>& all, const LayoutRecord& record) {
  auto own = std::find_if(all.begin(), all.end(),
                          [&](const LayoutRecord& one) { return one.same_machine(record); });
  if (own == all.end()) {
    all.push_back(record);
    return;
  }
  for (const MeasuredShape& one : record.shapes) {
    std::erase_if(own->shapes, [&](const MeasuredShape& old) {
      return old.examples == one.examples && old.shape == one.shape;
    });
    own->shapes.push_back(one);
  }
}

}  // namespace

core::fs::path layout_cache_file() {
  // A path that is not absolute is to be ignored, by the specification of these variables.
  const auto absolute = [](const char* name) {
    const char* value = std::getenv(name);
    const core::fs::path path = value == nullptr ? "" : value;
    return path.is_absolute() ? path : core::fs::path();
  };
  core::fs::path folder = absolute("XDG_CACHE_HOME");
  if (folder.empty() && !absolute("HOME").empty()) folder = absolute("HOME") / ".cache";
  return folder.empty() ? folder : folder / "adagp" / kLayoutFile;
}

LayoutRecord read_layout_cache(const core::fs::path& file) {
  LayoutRecord out = this_machine();
  for (const LayoutRecord& one : read_all(file)) {
    if (one.same_machine(out)) out.shapes = one.shapes;
  }
  return out;
}

void add_to_layout_cache(const core::fs::path& file, const LayoutRecord& record) {
  if (record.shapes.empty()) return;
  const std::string lost = "; what was measured of convolutions is not kept for other runs";
  if (file.empty()) {
    core::warn_once("neither XDG_CACHE_HOME nor HOME names a folder" + lost);
    return;
  }
  try {
    // Writing to a pipe would wait for its reader for ever.
    if (core::fs::exists(file)) core::require_regular_file(file);
    std::vector<LayoutRecord> all = read_all(file);  // again: another run may have added its own
    merge(all, record);
    ordered_json machines = ordered_json::array();
    for (const LayoutRecord& one : all) machines.push_back(to_json(one));
    core::make_folder(file.parent_path());
    core::write_file(file, ordered_json{{"machines", std::move(machines)}}.dump(
                               1, ' ', false, ordered_json::error_handler_t::replace) +
                               "\n");
  } catch (const Error& error) {
    core::warn_once(error.what() + lost);
  }
}

}  // namespace adagp::run
