#pragma once
// The classifier behind a cut of method modules.

#include "adagp/rivals/method/cut_networks.h"

namespace adagp::method {

// The published "mlp-sr": the map is pooled to a quarter of its side; three 1x1 convolutions;
// pooled to 2x2; three fully connected layers and the classifier.
std::shared_ptr<CutNetwork> make_auxiliary_head(const at::Tensor& x, int64_t classes);

}  // namespace adagp::method
