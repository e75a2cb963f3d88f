#pragma once
// From a name to a device.

#include <string>

#include <torch/types.h>

namespace adagp::device {

// "auto", "cpu", "cuda", "cuda:1". Throws UsageError when there is no such device here.
at::Device choose_device(const std::string& text);

}  // namespace adagp::device
