#pragma once
// Which of ONNX's operators are what. Torch-free.

#include <cstddef>
#include <string>

namespace adagp::layers {

// Of operators whose first operand decides, the name of torch's operation; "" of others.
std::string simple_name(const std::string& op);
// Moves or makes numbers.
bool only_moves(const std::string& op);
// Computes, but multiplies no matrices.
bool has_no_products(const std::string& op);

// Which operands of a product are its weight and its bias.
struct OnnxPlaces {
  size_t weight = 1, bias = 2;
};
OnnxPlaces places_of(const std::string& op);

}  // namespace adagp::layers
