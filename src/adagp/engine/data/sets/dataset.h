#pragma once
// Labelled images by index.

#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/base/io/image/image.h"

namespace adagp::data {

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<int64_t>& labels() const = 0;
  // One image, u8 [H, W, 3]; may decode a file (thread-safe).
  virtual at::Tensor image(int64_t index) const = 0;
  // The same, where decoding what `wanted_for` answers is quicker than decoding the whole.
  struct Partial {
    at::Tensor pixels;  // u8 [h, w, 3]
    io::Decoded decoded;
  };
  virtual Partial partial(int64_t index, const io::WantedFor& wanted_for) const;
  // All images in memory as u8 [N, H, W, 3], or undefined when they are decoded on demand.
  virtual at::Tensor resident() const { return {}; }
};

struct Splits {
  std::shared_ptr<const Dataset> train, test;
  std::vector<std::string> classes;
  std::vector<double> mean, std;  // three numbers each, in 0..1
  int64_t height = 0, width = 0;  // what the network sees
};

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
