#pragma once
// Images as files: train/CLASS/*.jpg|png beside test/CLASS (or val/CLASS), in a folder or an
// archive.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/config/data_options.h"

namespace adagp::data {

struct Splits;

// One image file of one half of the data set.
struct ImageFile {
  std::string path;   // as found, for messages
  std::string bytes;  // archives: the file's content; folders: empty, read when decoded
  int64_t label = 0;
};

struct FolderListing {
  std::vector<std::string> classes;    // sorted by name
  std::vector<ImageFile> train, test;  // sorted by class, then path
};

// Reads the folder's file names or the whole archive. Throws DataError when either half is missing
// or the test half has a class of its own.
FolderListing list_images(const std::string& dir);

// Decodes everything at once when all images have one size and fit into 2 GiB, else on demand.
Splits open_folder(const Config& config);

}  // namespace adagp::data
