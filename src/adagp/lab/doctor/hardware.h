#pragma once
// What the machine has, asked without LibTorch. No torch here.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/lab/doctor/check.h"

namespace adagp::doctor {

struct Gpu {
  std::string name;
  double bytes = 0;
};

struct Driver {
  int cuda = 0;  // the newest CUDA it can run, 13000 for 13.0; 0 without a driver
  std::vector<Gpu> gpus;
};

// Asks the driver itself, so that a program without CUDA sees a GPU, too.
Driver ask_driver();

// `built_with`: the CUDA of LibTorch, 0 when it is not linked. Within one major version an older
// driver runs what a newer CUDA built.
Check driver_check(const Driver& driver, int64_t built_with);

// A library that is optional when adagp is compiled. `lost`: what does not work without it;
// `package`: what to install.
Check library_check(const std::string& name, bool present, const std::string& lost,
                    const std::string& package);

// LibTorch's wheels for aarch64 multiply matrices with NVPL; empty where it is not loaded.
std::vector<Check> nvpl_checks();
Check memory_check();
Check disk_check();  // of the current folder

}  // namespace adagp::doctor
