#pragma once
// The map of a dense block: each layer reads all channels so far, and adds some of its own.
//
// With our kernels all of them lie in one buffer. What travels from layer to layer is a view of its
// first channels, so that no layer copies the channels of those before it; norms read the view as
// it is, and their backward pass adds the gradients that the later layers have for it. Elsewhere
// the steps are exactly norm, ReLU and concat.

#include "adagp/nn/fused_norm.h"

namespace adagp::nn {

// relu(norm(x)) for a layer, and x for what comes behind it: use `passed_on` there, not x.
NormBranch norm_relu_branch(BatchNorm2dImpl& norm, const at::Tensor& x);

// x with the channels of `added` behind its own. `room`: the channels that the whole block will
// have, the same for all its layers. x is dense, or a result of grow() that was not grown before:
// the new channels go into the memory behind it. To keep a result beyond that, make it dense().
at::Tensor grow(const at::Tensor& x, const at::Tensor& added, int64_t room);

// x itself where there are no gaps between its positions, else a dense copy: grow() writes behind
// neither.
at::Tensor dense(const at::Tensor& x);

}  // namespace adagp::nn
