#pragma once
// Labelled images by index, and the table of the data sets the program knows.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/data/config.h"

namespace adagp::data {

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<int64_t>& labels() const = 0;
  // One image, u8 [H, W, 3]; may decode a file (thread-safe).
  virtual at::Tensor image(int64_t index) const = 0;
  // All images in memory as u8 [N, H, W, 3], or undefined when they are decoded on demand.
  virtual at::Tensor resident() const { return {}; }
};

struct Splits {
  std::shared_ptr<const Dataset> train, test;
  std::vector<std::string> classes;
  std::vector<double> mean, std;  // three numbers each, in 0..1
  int64_t height = 0, width = 0;  // what the network sees
};

struct Entry {
  std::string name;
  std::string about;
  std::function<Splits(const Config&)> open;
};
const std::vector<Entry>& registry();
// Throws UsageError for an unknown name (with the nearest), DataError for what is wrong with files.
Splits open(const Config& config);

// The usual in-memory data set.
class ResidentDataset : public Dataset {
 public:
  ResidentDataset(at::Tensor images, std::vector<int64_t> labels);  // u8 [N, H, W, 3]
  int64_t size() const override;
  const std::vector<int64_t>& labels() const override;
  at::Tensor image(int64_t index) const override;
  at::Tensor resident() const override;

 private:
  at::Tensor images_;
  std::vector<int64_t> labels_;
};

}  // namespace adagp::data
