#pragma once
// What the kernels' interfaces share. Kernels take plain device pointers and a stream, know nothing
// of torch, and each has a reference in adagp::cuda::reference that does the same on host pointers:
// the definition the kernels are tested against.

#include <cstdint>
#include <string>

namespace adagp::cuda {

// A cudaStream_t, so that these headers need no CUDA.
using Stream = void*;

// Of activations and of the copies of weights that the network computes with. Statistics, master
// weights and optimizer state are always float.
enum class Type { kFloat, kBFloat16 };

inline int64_t size_of(Type type) {
  return type == Type::kFloat ? 4 : 2;
}

// A channels-last activation: memory order [batch, height, width, channels]. A linear layer's
// output [B, C] is a map of 1x1, tokens [B, T, C] are a map of Tx1.
struct Map {
  int64_t batch = 0, height = 1, width = 1, channels = 0;
  int64_t positions() const { return batch * height * width; }
  int64_t count() const { return positions() * channels; }
};

// Whether the kernels are in this program (they need nvcc when it is built), and for which
// architectures, as CMake names them ("80-real 90a-real 90-virtual").
bool compiled();
const char* architectures();
// Why the kernels cannot run on this device, in one line; empty when they can.
std::string unusable(int device);

// "NVIDIA H200", and the bytes per second of its memory by its data sheet; "" and 0 when not known.
std::string device_name(int device);
double memory_bandwidth(int device);
// The most bytes of shared memory that a block may have on the device; 0 when not known.
int64_t block_memory(int device);

// Throws Error with the CUDA message when the launch before failed. `what` names it.
void check_launch(const char* what);

}  // namespace adagp::cuda
