#include "adagp/gpu/device/graph.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/gpu/device/kernels.h"

#if defined(ADAGP_WITH_CUDA) && defined(ADAGP_WITH_KERNELS)
#define ADAGP_ON_GPU 1
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>
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

// A graph, and what the host does behind it.
struct Piece {
  std::unique_ptr<at::cuda::CUDAGraph> graph;  // null: nothing was queued before the first cut
  std::vector<std::function<void()>> outside;
};

// Records on the present stream; every cut ends a graph and begins the next one.
class PieceRecorder : public Recorder {
 public:
  explicit PieceRecorder(const at::Device& device)
      : device_(device), stream_(device::stream(device)), pool_(pools().for_capture(stream_)) {}
  ~PieceRecorder() override { abandon(); }
  PieceRecorder(const PieceRecorder&) = delete;
  PieceRecorder& operator=(const PieceRecorder&) = delete;

  void begin() {
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    try {
      graph->capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    } catch (const c10::Error& error) {
      throw Error(first_line(error.what_without_backtrace()));
    }
    present_ = std::move(graph);
  }

  void end() {
    auto graph = std::exchange(present_, nullptr);
    try {
      graph->capture_end();
    } catch (const c10::Error& error) {
      leave_pool(device_, stream_, pool_);
      cudaGetLastError();
      throw Error(first_line(error.what_without_backtrace()));
    }
    pieces_.push_back({std::move(graph), {}});
  }

  // Cuts with nothing between them are one.
  void cut(const std::function<void()>& work) override {
    if (!empty()) {
      end();
      begin();
    } else if (pieces_.empty()) {
      pieces_.emplace_back();
    }
    pieces_.back().outside.push_back(work);
  }

  // Ends a recording that went wrong; what the allocator and the stream were told must be taken
  // back.
  void abandon() {
    const auto graph = std::exchange(present_, nullptr);
    if (!graph) return;
    try {
      graph->capture_end();
    } catch (const c10::Error&) {
      leave_pool(device_, stream_, pool_);
    }
    cudaGetLastError();
  }

  std::vector<Piece> take() { return std::move(pieces_); }
  cuda::Stream recorded() const { return stream_; }
  c10::MempoolId_t pool() const { return pool_; }

 private:
  // Whether nothing is queued in the present piece; false for one that went wrong, whose end()
  // tells why.
  bool empty() const {
    cudaStreamCaptureStatus status{};
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    C10_CUDA_CHECK(
        cudaStreamGetCaptureInfo(static_cast<cudaStream_t>(stream_), &status, nullptr, &graph));
#else
    C10_CUDA_CHECK(
        cudaStreamGetCaptureInfo_v2(static_cast<cudaStream_t>(stream_), &status, nullptr, &graph));
#endif
    if (status != cudaStreamCaptureStatusActive) return false;
    size_t nodes = 0;
    C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    return nodes == 0;
  }

  at::Device device_;
  cuda::Stream stream_;
  c10::MempoolId_t pool_;
  std::unique_ptr<at::cuda::CUDAGraph> present_;
  std::vector<Piece> pieces_;
};

}  // namespace

struct Graph::Impl {
  std::vector<Piece> pieces;
  cuda::Stream stream = nullptr;  // on which it was recorded
  c10::MempoolId_t pool{0, 0};
  ~Impl() {
    if (!pieces.empty()) pools().remove_graph(stream, pool);
  }
};

bool Graph::possible(const at::Device& device) {
  return has_kernels(device);
}

void Graph::capture(const at::Device& device, const std::function<void()>& work) {
  impl_ = std::make_unique<Impl>();  // an earlier recording is given up
  synchronise(device);
  empty_cache(device);  // while recording, nothing that is kept for later can be given back
  PieceRecorder recorder(device);
  recorder.begin();
  try {
    const RecorderScope scope(recorder);
    work();
  } catch (const c10::Error& error) {
    recorder.abandon();
    throw Error(first_line(error.what_without_backtrace()));
  } catch (...) {
    recorder.abandon();
    throw;
  }
  recorder.end();
  impl_->pieces = recorder.take();
  impl_->stream = recorder.recorded();
  impl_->pool = recorder.pool();
  pools().add_graph(impl_->stream);
}

bool Graph::captured() const {
  return !impl_->pieces.empty();
}

void Graph::replay() {
  for (const Piece& piece : impl_->pieces) {
    if (piece.graph) piece.graph->replay();
    for (const auto& work : piece.outside) work();
  }
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
