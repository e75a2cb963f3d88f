// No torch here.

#include "adagp/lab/doctor/hardware.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <fstream>
#include <system_error>

#include "adagp/base/core/files.h"
#include "adagp/base/core/nvpl.h"
#include "adagp/base/core/text.h"

namespace adagp::doctor {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// Bytes that can still be allocated: the system's, or less in a container with a limit.
double free_memory() {
  double bytes = 0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key; meminfo >> key;) {
    if (key == "MemAvailable:") {
      meminfo >> bytes;
      bytes *= 1024;
      break;
    }
  }
  double limit = 0, used = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit &&
      std::ifstream("/sys/fs/cgroup/memory.current") >> used && limit - used < bytes) {
    bytes = limit - used;
  }
  return bytes;
}

// Whether a library with `part` in its name is loaded.
bool is_loaded(const char* part) {
  struct Search {
    const char* part;
    bool found = false;
  } search{part};
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        wanted.found =
            wanted.found || std::string(library->dlpi_name).find(wanted.part) != std::string::npos;
        return 0;
      },
      &search);
  return search.found;
}

std::string cuda_name(int64_t version) {
  return core::cat("CUDA ", version / 1000, ".", version % 1000 / 10);
}

}  // namespace

Driver ask_driver() {
  Driver driver;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return driver;
  const auto version = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  if (version == nullptr || version(&driver.cuda) != 0) driver.cuda = 0;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto count_of = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  const auto name_of =
      reinterpret_cast<int (*)(char*, int, int)>(dlsym(library, "cuDeviceGetName"));
  const auto memory_of =
      reinterpret_cast<int (*)(size_t*, int)>(dlsym(library, "cuDeviceTotalMem_v2"));
  int count = 0;
  if (init && count_of && name_of && memory_of && init(0) == 0 && count_of(&count) == 0) {
    for (int device = 0; device < count; ++device) {
      char name[256] = "unknown";
      size_t bytes = 0;
      name_of(name, sizeof name, device);
      memory_of(&bytes, device);
      driver.gpus.push_back({name, static_cast<double>(bytes)});
    }
  }
  return driver;  // the driver stays loaded: closing it while LibTorch uses it would be wrong
}

Check driver_check(const Driver& driver, int64_t built_with) {
  const std::string value = "for programs of up to " + cuda_name(driver.cuda);
  if (driver.cuda / 1000 >= built_with / 1000) return {"NVIDIA driver", Health::kOk, value, ""};
  return {
      "NVIDIA driver", Health::kWarn,
      core::cat("too old: ", value, ", and this LibTorch is built with ", cuda_name(built_with)),
      core::cat("install a driver for CUDA ", built_with / 1000,
                " or newer (nvidia-smi shows the present one), or train with --device cpu")};
}

Check library_check(const std::string& name, bool present, const std::string& lost,
                    const std::string& package) {
  if (present) return {name, Health::kOk, "built in", ""};
  return {
      name, Health::kWarn, "not built in",
      lost + "; install " + package + ", then: rm build/CMakeCache.txt build/build.ninja && make"};
}

std::vector<Check> nvpl_checks() {
  if (!is_loaded("libnvpl_blas")) return {};
  const char* chosen = std::getenv("NVPL_BLAS_DEBUG_CPU_TYPE");
  std::string value =
      core::cat("NVPL, kernels chosen by ",
                chosen == nullptr ? "itself" : core::cat("NVPL_BLAS_DEBUG_CPU_TYPE=", chosen));
  if (core::caches_have_no_size()) {
    value += ", because this machine tells no cache sizes and NVPL's tuned kernels hang then";
  }
  const std::string advice =
      chosen == nullptr ? "if a run hangs, set NVPL_BLAS_DEBUG_CPU_TYPE=1 (docs/troubleshooting.md)"
                        : "";
  return {{"BLAS", Health::kOk, value, advice}};
}

Check memory_check() {
  const double bytes = free_memory();
  const std::string value = core::human_bytes(bytes) + " free";
  if (bytes >= 2 * kGiB) return {"memory", Health::kOk, value, ""};
  return {"memory", Health::kWarn, value, "enough for the slim networks only; lower --batch"};
}

Check disk_check() {
  std::error_code failed;
  const auto space = core::fs::space(".", failed);
  if (failed) return {"disk", Health::kWarn, "unknown: " + failed.message(), "runs go to -o DIR"};
  const std::string value =
      core::human_bytes(static_cast<double>(space.available)) + " free in this folder";
  if (static_cast<double>(space.available) >= kGiB) return {"disk", Health::kOk, value, ""};
  return {"disk", Health::kWarn, value,
          "checkpoints of large networks may not fit; use -o elsewhere"};
}

}  // namespace adagp::doctor
