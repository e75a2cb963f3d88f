#pragma once
// The table of the data sets the program knows, of all tasks.

#include <string>
#include <variant>
#include <vector>

#include "adagp/engine/data/sets/dataset.h"
#include "adagp/engine/data/sets/detection.h"
#include "adagp/engine/data/sets/translation.h"

namespace adagp::data {

using OpenImages = Splits (*)(const Config&);
using OpenBoxes = DetectionSplits (*)(const Config&);
using OpenText = TextSplits (*)(const Config&, const TextOptions&);

struct Entry {
  std::string name;
  std::string about;
  std::variant<OpenImages, OpenBoxes, OpenText> open;  // of which kind, by the task

  std::string task() const;  // "classification", "detection", "translation"
};
const std::vector<Entry>& registry();
const Entry& find(const std::string& name);  // throws UsageError with the nearest name
// "; --data synthetic needs no files": the end of a message about files that are missing.
std::string without_files(const std::string& name);

// The data set that the configuration names. Each throws UsageError for an unknown name or one of
// another task, DataError for what is wrong with files.
Splits open(const Config& config);
DetectionSplits open_detection(const Config& config);
TextSplits open_text(const Config& config, const TextOptions& options);

}  // namespace adagp::data
