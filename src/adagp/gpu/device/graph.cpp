#include "adagp/gpu/device/graph.h"

#include <map>
#include <mutex>

#include "adagp/base/core/error.h"
#include "adagp/gpu/device/kernels.h"

#if defined(ADAGP_WITH_CUDA) && defined(ADAGP_WITH_KERNELS)
#define ADAGP_ON_GPU 1
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#endif

namespace adagp::device {

#ifdef ADAGP_ON_GPU
namespace {

// One pool of memory for all graphs of a stream: they run one after the other, and each leaves its
// memory to the next. Graphs of two streams may run at the same time and share none. LibTorch gives
// a pool up with its last graph; the next graph then needs another.
class Pools {
 public:
  c10::MempoolId_t for_capture(cuda::Stream stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Pool& pool = pools_[stream];
    if (pool.graphs == 0) pool.id = at::cuda::graph_pool_handle();
    return pool.id;
  }
  void add_graph(cuda::Stream stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++pools_[stream].graphs;
  }
  void remove_graph(cuda::Stream stream, c10::MempoolId_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Pool& pool = pools_[stream];
    if (pool.id == id) --pool.graphs;
  }
  // The pool is left to the graphs that are in it; the next one gets another.
  void forget(cuda::Stream stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pools_[stream] = Pool();
  }

 private:
  struct Pool {
    c10::MempoolId_t id{0, 0};
    int graphs = 0;
  };
  std::mutex mutex_;
  std::map<cuda::Stream, Pool> pools_;
};

// Never destroyed: a graph in a static object may outlive it.
Pools& pools() {
  static Pools& instance = *new Pools();
  return instance;
}

// An invalid recording ends before the allocator is told. No later recording may use the pool that
// a half-ended one has touched.
void leave_pool(const at::Device& device, cuda::Stream stream, c10::MempoolId_t id) {
  c10::cuda::CUDACachingAllocator::endAllocateToPool(device.index(), id);
  c10::cuda::CUDACachingAllocator::releasePool(device.index(), id);
  pools().forget(stream);
}

// LibTorch's messages carry a stack trace after their first line.
std::string first_line(const char* text) {
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

// Ends a recording that went wrong; what the allocator and the stream were told must be taken back.
void abandon(at::cuda::CUDAGraph& graph, const at::Device& device, cuda::Stream stream,
             c10::MempoolId_t pool) {
  try {
    graph.capture_end();
  } catch (const c10::Error&) {
    leave_pool(device, stream, pool);
  }
}

}  // namespace

struct Graph::Impl {
  std::unique_ptr<at::cuda::CUDAGraph> graph;
  cuda::Stream stream = nullptr;  // on which it was recorded
  c10::MempoolId_t pool{0, 0};
  ~Impl() {
    if (graph) pools().remove_graph(stream, pool);
  }
};

bool Graph::possible(const at::Device& device) {
  return has_kernels(device);
}

void Graph::capture(const at::Device& device, const std::function<void()>& work) {
  impl_ = std::make_unique<Impl>();  // an earlier recording is given up
  auto graph = std::make_unique<at::cuda::CUDAGraph>();
  synchronise(device);
  empty_cache(device);  // while recording, nothing that is kept for later can be given back
  const cuda::Stream recorded = stream(device);
  const c10::MempoolId_t pool = pools().for_capture(recorded);
  try {
    graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  } catch (const c10::Error& error) {
    throw Error(first_line(error.what_without_backtrace()));
  }
  try {
    work();
  } catch (const c10::Error& error) {
    abandon(*graph, device, recorded, pool);
    cudaGetLastError();
    throw Error(first_line(error.what_without_backtrace()));
  } catch (...) {
    abandon(*graph, device, recorded, pool);
    cudaGetLastError();
    throw;
  }
  try {
    graph->capture_end();
  } catch (const c10::Error& error) {
    leave_pool(device, recorded, pool);
    cudaGetLastError();
    throw Error(first_line(error.what_without_backtrace()));
  }
  impl_->graph = std::move(graph);
  impl_->stream = recorded;
  impl_->pool = pool;
  pools().add_graph(recorded);
}

bool Graph::captured() const {
  return impl_->graph != nullptr;
}

void Graph::replay() {
  impl_->graph->replay();
}

bool recording(const at::Device& device) {
  if (!device.is_cuda()) return false;
  const c10::cuda::CUDAGuard guard(device);
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
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

bool recording(const at::Device&) {
  return false;
}

#endif

Graph::Graph() : impl_(std::make_unique<Impl>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

}  // namespace adagp::device
