#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include <c10/util/Logging.h>

#include "adagp/base/core/lookup.h"
#include "adagp/teams/comm/c10d_group.h"

namespace adagp::comm {
namespace {

// nccl where every process has a GPU of its own and a program that can; else gloo. All come to the
// same answer, because all have the same facts.
std::string choose_backend(const Peers& peers) {
  std::set<std::string> wanted, gpus;
  bool nccl = true, gloo = true;
  for (const auto& peer : peers.all()) {
    wanted.insert(peer.wants);
    gpus.insert(peer.host + " " + peer.gpu);
    nccl = nccl && !peer.gpu.empty() && peer.offers.contains("nccl");
    gloo = gloo && peer.offers.contains("gloo");
  }
  if (wanted.size() > 1) {
    throw UsageError(core::cat("parallel: the processes want different backends: ",
                               core::join({wanted.begin(), wanted.end()}, ", ")));
  }
  if (*wanted.begin() != "auto") return *wanted.begin();
  return (nccl && gpus.size() == peers.all().size()) || !gloo ? "nccl" : "gloo";
}

std::string gpu_name(at::Device device) {
  if (!device.is_cuda()) return "";
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return core::cat(device.str(), " of ", visible == nullptr ? "all" : visible);
}

}  // namespace

std::vector<std::string> backends() {
  std::vector<std::string> names;
  if (have_gloo()) names.emplace_back("gloo");
  if (have_nccl()) names.emplace_back("nccl");
  return names;
}

std::unique_ptr<Group> join(const RankInfo& info, const GroupOptions& options, at::Device device) {
  core::find_named(std::array{"auto", "gloo", "nccl"}, options.backend,
                   "parallel: unknown backend");
  if (options.backend == "nccl" && !device.is_cuda()) {
    throw UsageError(core::cat("parallel: backend nccl needs a GPU for every process, and rank ",
                               info.rank, " computes on ", device.str()));
  }
  // c10d and gloo comment on every failed attempt to connect; our errors say it once.
  const int level = FLAGS_caffe2_log_level;
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = 3;
  if ((options.backend == "nccl" && !have_nccl()) || backends().empty()) {
    options.backend == "nccl" ? make_nccl({}) : make_gloo({});  // says what is missing
  }
  Ground ground;
  ground.store = open_store(info, options.timeout);
  Peer self = this_process();
  self.gpu = gpu_name(device);
  self.wants = options.backend;
  for (const auto& name : backends()) self.offers.insert(name);
  ground.peers = std::make_shared<Peers>(ground.store, info, self, options.timeout);
  ground.backend = choose_backend(*ground.peers);
  ground.master = info.master;
  ground.rank = info.rank;
  if (ground.backend == "nccl") {
    ground.device = device;
    ground.gpu_backends = std::make_shared<GpuBackends>();
    FLAGS_caffe2_log_level = level;
  }
  std::vector<int> everyone;
  for (int rank = 0; rank < info.world; ++rank) everyone.push_back(rank);
  return make_group(ground, everyone, "world");
}

}  // namespace adagp::comm
