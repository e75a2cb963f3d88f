#pragma once
// Networks to and from name -> tensor maps, with PyTorch's names.

#include <string>
#include <vector>

#include "adagp/engine/io/tensors.h"
#include "adagp/engine/models/model.h"

namespace adagp::run {

// Parameters and buffers.
io::TensorMap state_dict(const torch::nn::Module& net);

// Copies in place, keeping layout, device and precision (half and bf16 files become fp32). What has
// its values elsewhere (nn/values_elsewhere.h) stays as it is. The
// count of batches that norms keep may be missing, as in old files. Throws DataError listing the
// first ten missing, unexpected and misshapen names and their counts, or naming a tensor that is
// not finite; `source` names the file.
void load_state_dict(torch::nn::Module& net, const io::TensorMap& tensors,
                     const std::string& source);

// The same for a start from another network's weights: a head with another number of outputs keeps
// its values. Returns the names of the tensors that do, with their shapes.
std::vector<std::string> load_all_but_other_heads(models::Net& net, const io::TensorMap& tensors,
                                                  const std::string& source);

// The same refusals before anything is allocated, for a network whose sizes a file claims.
void check_fits(const std::string& name, const models::Options& options,
                const io::TensorMap& tensors, const std::string& source);

// What a weights file says of its network, so that it can be rebuilt from the file alone.
struct ModelTag {
  std::string name, form;
  int64_t classes = 0, width_divisor = 1;
  models::DuplexOptions duplex = {};  // of network duplex alone
};
std::map<std::string, std::string> to_metadata(const ModelTag& tag);
// Sizes of a Transformer that its shapes do not all show, and back; what is not there stays.
std::map<std::string, std::string> transformer_metadata(const models::TransformerOptions& sizes);
void read_metadata(const std::map<std::string, std::string>& metadata,
                   models::TransformerOptions& sizes);
ModelTag from_metadata(const std::map<std::string, std::string>& metadata);  // throws DataError

// Into network duplex: the weights of its backbone, as the backbone alone was saved. Its own head
// is left out. Throws UsageError for another network, DataError as load_state_dict().
void load_backbone(models::Net& net, const io::TensorMap& tensors, const std::string& source);

// The same of a file that says nothing, such as torchvision's: the form whose names and shapes fit
// network `name` best, and the number of classes its head has. Fields stay as they are in
// ModelTag{} where the shapes do not tell (translation, a head that is not there).
ModelTag from_shapes(const std::string& name, const io::TensorMap& tensors);

}  // namespace adagp::run
