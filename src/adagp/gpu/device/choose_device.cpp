#include "adagp/gpu/device/choose_device.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::device {

at::Device choose_device(const std::string& text) {
  const bool have_gpu = torch::cuda::is_available();
  const auto present = [] { return c10::impl::VirtualGuardImpl(at::kCUDA).getDevice(); };
  if (text == "auto") return have_gpu ? present() : at::Device(at::kCPU);
  if (text == "cpu") return at::kCPU;
  long long index = 0;
  if (text != "cuda" &&
      !(text.starts_with("cuda:") && core::parse_integer(text.substr(5), index))) {
    throw UsageError("device '" + text + "'" +
                     core::suggestion(text, {"auto", "cpu", "cuda", "cuda:0"}));
  }
  if (!have_gpu) {
    throw UsageError(
        "device '" + text +
        "': no GPU can be used: none is here, its driver is too old, or this program was built "
        "without CUDA ('adagp doctor' tells which); use --device cpu");
  }
  if (text == "cuda") return present();
  const auto count = static_cast<long long>(torch::cuda::device_count());
  if (index < 0 || index >= count) {
    throw UsageError(core::cat("device '", text, "': ", count, " GPU(s) here, numbered from 0"));
  }
  return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

}  // namespace adagp::device
