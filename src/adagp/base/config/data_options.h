#pragma once
// Options of the data sets. No torch here: recipes are read without it.

#include <cstdint>
#include <string>
#include <vector>

namespace adagp::data {

// Of `synthetic_noise`: shapes drown far below, and the work of a picture grows with it.
constexpr double kMostNoise = 100;

// Every number a data set can need; the `data.*` keys of a recipe.
struct Config {
  std::string name = "synthetic";  // a name of registry()
  std::string dir;                 // folder or file; unused by synthetic
  int64_t limit = 0;  // at most this many training images (0 = all), spread over classes
  int64_t test_limit = 0;
  std::vector<double> mean;  // one or three numbers in 0..1; empty = the data set's own
  std::vector<double> std;
  int64_t image_size = 0;  // size the network sees; 0 = the images' own (folders: 224 if they vary)
  int64_t synthetic_train = 5000;
  int64_t synthetic_test = 1000;
  int64_t synthetic_size = 32;
  int64_t synthetic_seed = 1234;  // which world is generated; apart from the run's seed
  double synthetic_noise = 1.0;   // difficulty
  std::vector<std::string> voc_train, voc_test;  // "2007/trainval"; empty = the usual ones
  std::string bad_boxes = "skip";                // skip | refuse annotations that cannot be right
};

}  // namespace adagp::data
