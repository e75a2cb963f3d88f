#include "adagp/device/graph.h"

#include <exception>

#include "adagp/core/error.h"
#include "adagp/device/kernels.h"

#if defined(ADAGP_WITH_CUDA) && defined(ADAGP_WITH_KERNELS)
#define ADAGP_ON_GPU 1
#include <ATen/cuda/CUDAGraph.h>
#endif

namespace adagp::device {

#ifdef ADAGP_ON_GPU
namespace {

// One pool of memory for all graphs: only one of them runs at a time, and each leaves its memory to
// the next. LibTorch gives a pool up with its last graph; the next graph then needs another.
struct Pool {
  c10::MempoolId_t id{0, 0};
  int graphs = 0;
};

Pool& shared() {
  static Pool pool;
  return pool;
}

c10::MempoolId_t pool_for_capture() {
  if (shared().graphs == 0) shared().id = at::cuda::graph_pool_handle();
  return shared().id;
}

// An invalid recording ends before the allocator is told. The pool is left to the graphs that are
// in it; the next one gets another, which no half-ended recording has touched.
void leave_pool(const at::Device& device) {
  c10::cuda::CUDACachingAllocator::endAllocateToPool(device.index(), shared().id);
  c10::cuda::CUDACachingAllocator::releasePool(device.index(), shared().id);
  shared() = Pool();
}

// LibTorch's messages carry a stack trace after their first line.
std::string first_line(const char* text) {
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

// Ends a recording that went wrong; what the allocator and the stream were told must be taken back.
void abandon(at::cuda::CUDAGraph& graph, const at::Device& device) {
  try {
    graph.capture_end();
  } catch (const c10::Error&) {
    leave_pool(device);
  }
}

}  // namespace

struct Graph::Impl {
  std::unique_ptr<at::cuda::CUDAGraph> graph;
  c10::MempoolId_t pool{0, 0};
  ~Impl() {
    if (graph && pool == shared().id) --shared().graphs;
  }
};

bool Graph::possible(const at::Device& device) {
  return kernels(device);
}

void Graph::capture(const at::Device& device, const std::function<void()>& work) {
  impl_ = std::make_unique<Impl>();  // an earlier recording is given up
  auto graph = std::make_unique<at::cuda::CUDAGraph>();
  synchronise(device);
  empty_cache(device);  // while recording, nothing that is kept for later can be given back
  try {
    graph->capture_begin(pool_for_capture(), cudaStreamCaptureModeThreadLocal);
  } catch (const c10::Error& error) {
    throw Error(first_line(error.what_without_backtrace()));
  }
  try {
    work();
  } catch (const c10::Error& error) {
    abandon(*graph, device);
    cudaGetLastError();
    throw Error(first_line(error.what_without_backtrace()));
  } catch (...) {
    abandon(*graph, device);
    cudaGetLastError();
    throw;
  }
  try {
    graph->capture_end();
  } catch (const c10::Error& error) {
    leave_pool(device);
    cudaGetLastError();
    throw Error(first_line(error.what_without_backtrace()));
  }
  impl_->graph = std::move(graph);
  impl_->pool = shared().id;
  ++shared().graphs;
}

bool Graph::captured() const {
  return impl_->graph != nullptr;
}

void Graph::replay() {
  impl_->graph->replay();
}

#else

struct Graph::Impl {};

bool Graph::possible(const at::Device&) {
  return false;
}
void Graph::capture(const at::Device&, const std::function<void()>&) {
  throw Error("this program was built without CUDA graphs (no nvcc was found)");
}
bool Graph::captured() const {
  return false;
}
void Graph::replay() {}

#endif

Graph::Graph() : impl_(std::make_unique<Impl>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

}  // namespace adagp::device
