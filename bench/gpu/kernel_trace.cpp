// Every kernel that a program runs, as CSV, by CUPTI; also those inside a CUDA graph.
//
//   CUDA_INJECTION64_PATH=build/cuda/libkernel_trace.so KERNEL_TRACE=trace.csv
//       adagp bench --model vgg13_bn --device cuda --precision bf16 --batch 256 --only bp
//   python3 bench/gpu/kernel_times.py trace.csv
//
// The driver loads the library and calls InitializeInjection(). One line is one kernel, copy or
// fill; `launch` is equal for all kernels of one launch of a graph.

#include <cupti.h>
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

namespace {

constexpr size_t kBufferBytes = size_t{8} << 20U;

FILE* out = nullptr;
std::mutex writing;

void check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  const char* why = nullptr;
  cuptiGetResultString(result, &why);
  std::fprintf(stderr, "kernel_trace: %s: %s\n", what, why != nullptr ? why : "unknown");
}

std::string readable(const char* name) {
  if (name == nullptr) return "?";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  std::string text = status == 0 ? plain.get() : name;
  for (char& c : text) {
    if (c == '"') c = '\'';
  }
  return text;
}

template <typename Record>
void write_line(const Record& r, long long blocks, int threads, int shared, const char* name) {
  std::fprintf(out, "%u,%llu,%llu,%u,%lld,%d,%d,\"%s\"\n", r.correlationId,
               static_cast<unsigned long long>(r.start), static_cast<unsigned long long>(r.end),
               r.streamId, blocks, threads, shared, name);
}

void write_record(const CUpti_Activity& record) {
  if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& k = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
    write_line(k, static_cast<long long>(k.gridX) * k.gridY * k.gridZ,
               k.blockX * k.blockY * k.blockZ, k.staticSharedMemory + k.dynamicSharedMemory,
               readable(k.name).c_str());
  } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    write_line(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record), 0, 0, 0, "copy");
  } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    write_line(reinterpret_cast<const CUpti_ActivityMemset4&>(record), 0, 0, 0, "fill");
  }
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(ACTIVITY_RECORD_ALIGNMENT, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t /*bytes*/,
                          size_t filled) {
  const std::lock_guard<std::mutex> lock(writing);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, filled, &record) == CUPTI_SUCCESS) {
    write_record(*record);
  }
  size_t dropped = 0;
  cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
  if (dropped != 0) std::fprintf(stderr, "kernel_trace: %zu kernels are missing\n", dropped);
  std::free(buffer);
}

void finish() {
  check(cuptiActivityFlushAll(1), "flush");
  const std::lock_guard<std::mutex> lock(writing);
  if (std::fclose(out) != 0) std::perror("kernel_trace");
}

}  // namespace

extern "C" int InitializeInjection() {
  const char* path = std::getenv("KERNEL_TRACE");
  if (path == nullptr || *path == '\0') path = "kernel_trace.csv";
  out = std::fopen(path, "w");
  if (out == nullptr) {
    std::perror(path);
    return 0;
  }
  std::fprintf(out, "launch,start_ns,end_ns,stream,blocks,threads,shared_bytes,name\n");
  check(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "callbacks");
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) {
    check(cuptiActivityEnable(kind), "enable");
  }
  std::atexit(finish);
  return 1;
}
