#pragma once
// Sizes of what ONNX's operators compute. Torch-free.

#include "adagp/sim/layers/onnx/call.h"

namespace adagp::layers {

// Fills what it knows of `call.outputs`: sizes, and the numbers of small constants. Throws
// DataError where operands do not fit together.
void infer(OnnxCall& call);

// The parts of infer().
using ShapeRule = void (*)(OnnxCall&);
ShapeRule window_rule(const std::string& op);   // convolutions, pools, resizing; null: another
ShapeRule move_rule(const std::string& op);     // what moves numbers
ShapeRule product_rule(const std::string& op);  // products, recurrent layers, attention
void fold(OnnxCall& call);                      // numbers of small constants

// Numpy's rule. Throws DataError.
Sizes broadcast(const Sizes& a, const Sizes& b);
// Of one axis of a convolution or pool.
struct Padding {
  int64_t before = 0, behind = 0;
};
std::vector<Padding> paddings(const OnnxCall& call, const Sizes& input, const Sizes& kernel,
                              const Sizes& stride, const Sizes& dilation);
// One number an axis of a convolution whose output is known, as a table has it: half of what both
// sides add (of a ConvTranspose: cut off), rounded up, or down where only that gives the output.
Sizes table_padding(const OnnxCall& call, const Sizes& kernel, const Sizes& stride,
                    const Sizes& dilation);

}  // namespace adagp::layers
