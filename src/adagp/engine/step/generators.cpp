#include "adagp/engine/step/generators.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::step {
namespace {

// Every process of a team has its own; the leader's have the names of a process alone.
std::string generator_name(const Team& team, const char* name) {
  return team.leads() ? name : core::cat("rank", team.rank(), ".", name);
}

}  // namespace

io::TensorMap generator_state(const Team& team, at::Device device) {
  const auto state = [](at::Device where) {
    return at::globalContext().defaultGenerator(where).get_state();
  };
  io::TensorMap out{{generator_name(team, "cpu"), state(at::kCPU)}};
  if (device.is_cuda()) out[generator_name(team, "cuda")] = state(device);
  return out;
}

void load_generator_state(const Team& team, at::Device device, const io::TensorMap& saved) {
  const auto restore = [&](const char* name, at::Device where) {
    auto found = saved.find(generator_name(team, name));
    // A run that had fewer processes: this one goes on with its own.
    if (found == saved.end() && !team.leads()) return;
    if (found == saved.end())
      throw DataError(std::string("checkpoint: no random state for ") + name);
    at::Generator generator = at::globalContext().defaultGenerator(where);
    generator.set_state(found->second);
  };
  restore("cpu", at::kCPU);
  if (device.is_cuda()) restore("cuda", device);
}

}  // namespace adagp::step
