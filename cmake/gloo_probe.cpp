// Whether gloo's headers fit LibTorch: two ranks of one process add up a tensor.
#include <cstdlib>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

int main() {
  using Gloo = c10d::ProcessGroupGloo;
  setenv("TORCH_FR_BUFFER_SIZE", "0", 1);  // its record of calls has no lock
  const auto store = c10::make_intrusive<c10d::HashStore>();
  double sums[2] = {0, 0};
  const auto member = [&](int rank) {
    auto options = Gloo::Options::create(std::chrono::seconds(20));
    options->devices.push_back(Gloo::createDeviceForHostname("127.0.0.1"));
    const auto group = c10::make_intrusive<Gloo>(store, rank, 2, options);
    std::vector<at::Tensor> tensors{at::full({3}, 1.0 + rank)};
    group->allreduce(tensors)->wait();
    sums[rank] = tensors[0].sum().item<double>();
  };
  std::thread other(member, 1);
  member(0);
  other.join();
  return sums[0] == 9 && sums[1] == 9 ? 0 : 1;
}
