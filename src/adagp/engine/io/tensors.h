#pragma once
// safetensors <-> at::Tensor.

#include <map>
#include <string>

#include <torch/types.h>

#include "adagp/base/core/files.h"
#include "adagp/base/io/safetensors.h"

namespace adagp::io {

using TensorMap = std::map<std::string, at::Tensor>;

struct TensorFile {
  TensorMap tensors;  // on the CPU, contiguous
  std::map<std::string, std::string> metadata;
};

TensorFile load_tensors(const core::fs::path& path);
// Tensors may live on any device and in any layout; they are written contiguous.
void save_tensors(const core::fs::path& path, const TensorMap& tensors,
                  const std::map<std::string, std::string>& metadata = {},
                  core::Sync sync = core::Sync::kNow);
at::Tensor to_tensor(const SafeTensors& file, const TensorEntry& entry);

}  // namespace adagp::io
