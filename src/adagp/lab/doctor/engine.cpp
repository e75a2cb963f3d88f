#include "adagp/lab/doctor/engine.h"

#include <string>
#include <thread>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include "adagp/base/core/text.h"
#include "adagp/gpu/cuda/types.h"
#include "adagp/lab/doctor/hardware.h"

namespace adagp::doctor {
namespace {

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

#ifdef ADAGP_WITH_CUDA
constexpr bool kCudaBuiltIn = true;
int64_t linked_cuda() {
  return at::globalContext().versionCUDART();
}
#else
constexpr bool kCudaBuiltIn = false;
int64_t linked_cuda() {
  return 0;
}
#endif

Check cuda_check(const std::vector<Gpu>& gpus, int usable) {
  if (!kCudaBuiltIn && gpus.empty()) {
    return {"CUDA", Health::kOk, "not built in, and no GPU is here: training on the CPU", ""};
  }
  if (!kCudaBuiltIn) {
    return {"CUDA", Health::kWarn, "not built in, although a GPU is here",
            "build again: make clean && make"};
  }
  if (usable == 0) {
    return {"CUDA", Health::kWarn, "built in, but LibTorch finds no GPU: training on the CPU",
            gpus.empty() ? "no NVIDIA driver answers (nvidia-smi shows why)"
                         : "the driver is too old (see above), or the device is not passed into "
                           "this container"};
  }
  return {"CUDA", Health::kOk, core::cat("built in, ", usable, " device(s) usable"), ""};
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

}  // namespace

Check cpu_check() {
  const std::string value =
      core::cat(at::get_num_threads(), " of ", std::thread::hardware_concurrency(),
                " hardware threads, ", at::get_cpu_capability());
  return {"CPU", Health::kOk, value, ""};
}

Check cpu_training_check() {
  return try_backward("training on the CPU", at::kCPU);
}

std::vector<Check> gpu_checks() {
  std::vector<Check> checks;
  const Driver driver = ask_driver();
  const std::vector<Gpu>& gpus = driver.gpus;
  const int usable = at::hasCUDA() ? static_cast<int>(torch::cuda::device_count()) : 0;
  const int64_t built_with = linked_cuda();
  if (driver.cuda > 0) checks.push_back(driver_check(driver, built_with));
  checks.push_back(cuda_check(gpus, usable));
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
  return checks;
}

}  // namespace adagp::doctor
