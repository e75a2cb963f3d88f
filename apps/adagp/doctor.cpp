// adagp doctor: what this build can do on this machine, and what to do about what it cannot.

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/version.h>
#include <nlohmann/json.hpp>

#include "adagp/comm/group.h"
#include "adagp/core/files.h"
#include "adagp/core/nvpl.h"
#include "adagp/core/output.h"
#include "adagp/core/text.h"
#include "adagp/cuda/types.h"
#include "adagp/data/sets/voc_annotation.h"
#include "adagp/io/archive.h"
#include "adagp/io/image.h"
#include "commands.h"

namespace adagp::apps {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

enum class Health { kOk, kWarn, kFail };  // fail: training is not possible

struct Check {
  std::string name;
  Health health;
  std::string value;
  std::string advice;  // what is lost and how to get it; empty when ok
};

struct Gpu {
  std::string name;
  double bytes = 0;
};

struct Driver {
  int cuda = 0;  // the newest CUDA it can run, 13000 for 13.0; 0 without a driver
  std::vector<Gpu> gpus;
};

// Asks the driver itself, so that a GPU is seen by a program that was built without CUDA too.
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

// y = 3x: the gradient of the sum of y with respect to x is 3, on every device.
Check try_backward(const std::string& name, at::Device device) {
  try {
    const at::Tensor x = torch::ones({4, 4}, torch::requires_grad().device(device));
    at::matmul(x, 3 * torch::eye(4, device)).sum().backward();
    const bool right = at::allclose(x.grad().cpu(), torch::full({4, 4}, 3.0F));
    if (right) return {name, Health::kOk, "a small forward and backward pass is right", ""};
    return {
        name, Health::kFail, "a small backward pass gives wrong numbers",
        "the torch package is damaged or not the one adagp was built with: run make setup build"};
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return {
        name, Health::kFail, text.substr(0, text.find('\n')),
        device.is_cuda() ? "train with --device cpu, or mend the driver" : "run make setup build"};
  }
}

Check cpu_check() {
  const std::string value =
      core::cat(at::get_num_threads(), " threads of ", std::thread::hardware_concurrency(),
                " hardware threads, ", at::get_cpu_capability());
  return {"CPU", Health::kOk, value, ""};
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

// LibTorch's wheels for aarch64 multiply matrices with NVPL.
void add_nvpl_check(std::vector<Check>& checks) {
  if (!is_loaded("libnvpl_blas")) return;
  const char* chosen = std::getenv("NVPL_BLAS_DEBUG_CPU_TYPE");
  std::string value =
      core::cat("NVPL, kernels chosen by ",
                chosen == nullptr ? "itself" : core::cat("NVPL_BLAS_DEBUG_CPU_TYPE=", chosen));
  if (core::caches_have_no_size()) {
    value += ", because this machine tells no cache sizes and NVPL's tuned kernels hang then";
  }
  checks.push_back({"BLAS", Health::kOk, value,
                    chosen == nullptr
                        ? "if a run hangs, set NVPL_BLAS_DEBUG_CPU_TYPE=1 (docs/troubleshooting.md)"
                        : ""});
}

std::string cuda_name(int64_t version) {
  return core::cat("CUDA ", version / 1000, ".", version % 1000 / 10);
}

// `built_with`: the CUDA of LibTorch, 0 when it is not linked. Within one major version an older
// driver runs what a newer CUDA built.
Check driver_check(const Driver& driver, int64_t built_with) {
  const std::string value = "for programs of up to " + cuda_name(driver.cuda);
  if (driver.cuda / 1000 >= built_with / 1000) return {"NVIDIA driver", Health::kOk, value, ""};
  return {
      "NVIDIA driver", Health::kWarn,
      core::cat("too old: ", value, ", and this LibTorch is built with ", cuda_name(built_with)),
      core::cat("install a driver for CUDA ", built_with / 1000,
                " or newer (nvidia-smi shows the present one), or train with --device cpu")};
}

// One line, and one more for every GPU that the kernels cannot run on.
void add_kernel_checks(std::vector<Check>& checks, int usable) {
  const std::string name = "CUDA kernels";
  if (!cuda::compiled()) {
    const Health health = usable > 0 ? Health::kWarn : Health::kOk;
    checks.push_back({name, health, "not built in",
                      usable == 0 ? ""
                                  : "steps on the GPU are slower without them; put nvcc on the "
                                    "PATH and build in a new folder"});
    return;
  }
  const std::string value = core::cat("built in, for ", cuda::architectures());
  checks.push_back({name, Health::kOk, value, ""});
  for (int i = 0; i < usable; ++i) {
    const std::string reason = cuda::unusable(i);
    if (reason.empty()) continue;
    checks.push_back({core::cat(name, ", GPU ", i), Health::kWarn, reason,
                      "build for it: PATH=$PWD/.venv/bin:$PATH; cmake --preset cuda "
                      "-DCMAKE_CUDA_ARCHITECTURES=native && ninja -C build/cuda adagp"});
  }
}

void add_gpu_checks(std::vector<Check>& checks) {
  const Driver driver = ask_driver();
  const std::vector<Gpu>& gpus = driver.gpus;
  const int usable = at::hasCUDA() ? static_cast<int>(torch::cuda::device_count()) : 0;
#ifdef ADAGP_WITH_CUDA
  const bool built_in = true;
  const int64_t built_with = at::globalContext().versionCUDART();
#else
  const bool built_in = false;
  const int64_t built_with = 0;
#endif
  if (driver.cuda > 0) checks.push_back(driver_check(driver, built_with));
  if (!built_in && gpus.empty()) {
    checks.push_back(
        {"CUDA", Health::kOk, "not built in, and no GPU is here: training on the CPU", ""});
  } else if (!built_in) {
    checks.push_back({"CUDA", Health::kWarn, "not built in, although a GPU is here",
                      "build again: make clean && make"});
  } else if (usable == 0) {
    checks.push_back(
        {"CUDA", Health::kWarn, "built in, but LibTorch finds no GPU: training on the CPU",
         gpus.empty() ? "no NVIDIA driver answers (nvidia-smi shows why)"
                      : "the driver is too old (see above), or the device is not passed into "
                        "this container"});
  } else {
    checks.push_back(
        {"CUDA", Health::kOk, core::cat("built in, ", usable, " device(s) usable"), ""});
  }
  add_kernel_checks(checks, usable);
  for (size_t i = 0; i < gpus.size(); ++i) {
    checks.push_back({core::cat("GPU ", i), Health::kOk,
                      gpus[i].name + ", " + core::human_bytes(gpus[i].bytes), ""});
  }
  for (int i = 0; i < usable; ++i) {
    Check check = try_backward(core::cat("training on GPU ", i), at::Device(at::kCUDA, i));
    if (check.health == Health::kFail) check.health = Health::kWarn;  // the CPU is left
    checks.push_back(check);
  }
}

Check library_check(const std::string& name, bool present, const std::string& lost,
                    const std::string& package) {
  if (present) return {name, Health::kOk, "built in", ""};
  return {
      name, Health::kWarn, "not built in",
      lost + "; install " + package + ", then: rm build/CMakeCache.txt build/build.ninja && make"};
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

std::vector<Check> examine() {
  std::vector<Check> checks;
  checks.push_back({"adagp", Health::kOk, ADAGP_VERSION, ""});
#if defined(__clang__)
  checks.push_back({"compiler", Health::kOk, __VERSION__, ""});
#else
  checks.push_back({"compiler", Health::kOk, core::cat("GCC ", __VERSION__), ""});
#endif
  checks.push_back({"LibTorch", Health::kOk, TORCH_VERSION, ""});
  checks.push_back(cpu_check());
  add_nvpl_check(checks);
  checks.push_back(try_backward("training on the CPU", at::kCPU));
  add_gpu_checks(checks);
  const auto backends = comm::backends();
  const std::string no_gloo = comm::why_no_gloo();
  checks.push_back({"several processes", no_gloo.empty() ? Health::kOk : Health::kWarn,
                    backends.empty() ? "not built in" : core::join(backends, ", ") + " built in",
                    no_gloo.empty() ? "" : "no --parallel on CPUs: " + no_gloo});
  checks.push_back(library_check("JPEG (TurboJPEG)", io::have_jpeg(), "no .jpg images in data sets",
                                 "libturbojpeg0-dev"));
  checks.push_back(library_check("parts of JPEG files (libjpeg-turbo)", io::have_jpeg_parts(),
                                 "image folders load slower", "libjpeg-dev"));
  checks.push_back(
      library_check("PNG (libpng)", io::have_png(), "no .png images in data sets", "libpng-dev"));
  checks.push_back(library_check("archives (libarchive)", io::have_archive(),
                                 "no data sets inside .tar, .tar.gz, .tar.xz, .zip; unpack them",
                                 "libarchive-dev"));
  checks.push_back(library_check("XML (pugixml)", data::have_xml(), "no Pascal VOC annotations",
                                 "libpugixml-dev"));
  checks.push_back(memory_check());
  checks.push_back(disk_check());
  return checks;
}

const char* health_name(Health health) {
  return health == Health::kOk ? "ok" : health == Health::kWarn ? "warn" : "FAIL";
}

int doctor(bool json) {
  const std::vector<Check> checks = examine();
  bool possible = true;
  nlohmann::json list = nlohmann::json::array();
  for (const Check& check : checks) {
    possible = possible && check.health != Health::kFail;
    if (json) {
      list.push_back({{"name", check.name},
                      {"status", core::lower(health_name(check.health))},
                      {"value", check.value},
                      {"advice", check.advice}});
      continue;
    }
    std::ostringstream line;
    line << std::left << std::setw(5) << health_name(check.health) << " " << std::setw(22)
         << check.name << " " << check.value << "\n";
    if (!check.advice.empty()) line << std::string(29, ' ') << check.advice << "\n";
    core::print(line.str());
  }
  if (json) {
    core::print_data(nlohmann::json{{"training_possible", possible}, {"checks", list}}.dump(2) +
                     "\n");
  } else {
    core::print(possible ? "Training is possible.\n"
                         : "Training is NOT possible: see FAIL above.\n");
  }
  return possible ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("doctor", "What this build can do on this machine");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json, &action] { action = [json] { return doctor(*json); }; });
}

}  // namespace adagp::apps
