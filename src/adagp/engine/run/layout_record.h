#pragma once
// The measured layouts of a network's convolutions, as JSON: convolutions.json of a run folder, and
// the file of the same name in the user's cache folder, where a machine keeps them for all runs.

#include <string>
#include <vector>

#include "adagp/base/core/files.h"
#include "adagp/engine/nn/layouts.h"

namespace adagp::run {

inline constexpr const char* kLayoutFile = "convolutions.json";

struct MeasuredShape {
  int64_t examples = 0;  // of the batches that were measured
  nn::ConvolutionShape shape;
  nn::LayoutChoices choices{};
};

struct LayoutRecord {
  std::string cpu, torch;
  int64_t threads = 0;
  std::vector<MeasuredShape> shapes = {};

  bool same_machine(const LayoutRecord& other) const {
    return cpu == other.cpu && torch == other.torch && threads == other.threads;
  }
  // Null: not measured.
  const MeasuredShape* find(int64_t examples, const nn::ConvolutionShape& shape) const;
};

// This CPU with the present number of threads, nothing measured.
LayoutRecord this_machine();

std::string to_text(const LayoutRecord& record);
// Throws DataError naming `source` and the cure.
LayoutRecord layout_record(const std::string& text, const std::string& source);

// $XDG_CACHE_HOME/adagp/convolutions.json, or under ~/.cache; empty where neither is known.
core::fs::path layout_cache_file();
// What is known of this machine. A damaged file gives one warning and counts as empty.
LayoutRecord read_layout_cache(const core::fs::path& file);
// Adds the shapes of `record` to the file, or replaces them there. Where it cannot be written, one
// warning says so.
void add_to_layout_cache(const core::fs::path& file, const LayoutRecord& record);

}  // namespace adagp::run
