#pragma once
// Between tensors and our kernels: may they run here, on which stream, with which memory.

#include <torch/types.h>

#include "adagp/gpu/cuda/types.h"

namespace adagp::device {

// Whether our kernels can work on this device: a GPU, an architecture they were compiled for.
bool has_kernels(const at::Device& device);
// Why not, in one line; empty when they can, and on a CPU.
std::string why_no_kernels(const at::Device& device);

// The most bytes of shared memory that a block of a kernel may have there; 0 on a CPU.
int64_t block_memory(const at::Device& device);

// The stream on which this thread's work for the device is queued.
cuda::Stream stream(const at::Device& device);
// The kernel on this stream; on a CPU its reference.
template <typename Args>
void run(const at::Device& device, const Args& args, void (*kernel)(const Args&, cuda::Stream),
         void (*reference)(const Args&)) {
  if (device.is_cuda()) return kernel(args, stream(device));
  reference(args);
}
// Makes a stream of its own the current one of this thread: graphs cannot be recorded on the
// default one, and work on a single stream needs no events in between. Of high priority: work
// beside it (device/side_stream.h) is to wait; of low priority where gradients are exchanged beside
// it.
enum class Priority { kHigh, kLow };
void use_own_stream(const at::Device& device, Priority priority = Priority::kHigh);

// Lets LibTorch's own threads meet the device, by a backward pass of one number: what they do first
// would otherwise be a matrix product, which complains about its missing context.
void wake(const at::Device& device);

// float or bf16: what the kernels take.
bool has_type(const at::Tensor& x);
cuda::Type type_of(const at::Tensor& x);  // throws Error for any other type
// [B, C, H, W] as the kernels see it; x must be channels_last(x), or pitched.
cuda::Map map_of(const at::Tensor& x);
// x itself when it is dense in channels-last order, else a copy that is.
at::Tensor channels_last(const at::Tensor& x);
// x itself when its memory begins at a multiple of 16 bytes, as some kernels want it, else a copy.
at::Tensor aligned_to_16_bytes(const at::Tensor& x);

// Elements from one position of x to the next, where x is the first channels (or some) of a wider
// map in channels-last order, and the number of its channels where it is dense; 0: neither.
int64_t pitch_of(const at::Tensor& x);
// x itself when it has a pitch, else a dense copy.
at::Tensor pitched(const at::Tensor& x);

// Memory for partial results, shared by all launches on one stream that name the same purpose: they
// run one after the other. Streams do not share it, because their work may overlap. It is never
// freed or moved, because captured graphs hold its address: a larger request gets new memory.
enum class Scratch { kStats, kBackward, kLoss, kClip, kTrain };
void* scratch(Scratch purpose, const at::Device& device, int64_t bytes);  // of the current stream
void* scratch(Scratch purpose, const at::Device& device, cuda::Stream stream, int64_t bytes);

struct Memory {
  int64_t free = 0, total = 0;  // bytes of the GPU, by its driver
  int64_t allocated = 0;        // live tensors
  int64_t peak = 0;             // the largest of that since reset_peak()
};
Memory memory(const at::Device& device);
void reset_peak(const at::Device& device);
void empty_cache(const at::Device& device);  // memory kept for later goes back to the driver
void synchronise(const at::Device& device);  // nothing on a CPU

}  // namespace adagp::device
