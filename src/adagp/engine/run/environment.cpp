#include "adagp/engine/run/environment.h"

#include <ctime>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include "adagp/base/core/claim_file.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/provenance.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/commit.h"
#include "adagp/gpu/cuda/types.h"

namespace adagp::run {
namespace {

// The first value of a line "name : value".
std::string value_of(const std::vector<std::string>& lines, const std::string& name) {
  for (const std::string& line : lines) {
    const auto colon = line.find(':');
    if (line.starts_with(name) && colon != std::string::npos) {
      return core::trim(line.substr(colon + 1));
    }
  }
  return "";
}

}  // namespace

std::string cpu_name() {
  std::vector<std::string> lines;
  try {
    lines = core::split(core::read_file("/proc/cpuinfo"), '\n');
  } catch (const Error&) {
    return "";
  }
  const std::string model = value_of(lines, "model name"),
                    maker = value_of(lines, "CPU implementer");
  if (!model.empty() || maker.empty()) return model;
  return core::cat("ARM ", maker, " part ", value_of(lines, "CPU part"), " variant ",
                   value_of(lines, "CPU variant"));
}

nlohmann::ordered_json environment(const at::Device& device, const std::string& data) {
  const std::time_t now = std::time(nullptr);
  char stamp[32];
  std::strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  nlohmann::ordered_json out{{"started", stamp},
                             {"command", core::command()},
                             {"version", core::version()},
                             {"commit", commit()},
                             {"host", core::this_process().host},
                             {"device", device.str()},
                             {"threads", at::get_num_threads()},
                             {"cores", std::thread::hardware_concurrency()},
                             {"cpu", cpu_name()},
                             {"libtorch", TORCH_VERSION},
                             {"compiler", __VERSION__}};
  if (device.is_cuda()) {
    out["gpu"] = cuda::device_name(device.has_index() ? device.index() : 0);
  }
  if (!data.empty()) out["data"] = data;
  return out;
}

}  // namespace adagp::run
