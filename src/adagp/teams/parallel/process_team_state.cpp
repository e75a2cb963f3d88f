// What the processes of a team know of each other's network and state.

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/process_memory.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/crc32c.h"
#include "adagp/engine/nn/values_elsewhere.h"
#include "adagp/engine/run/weights.h"
#include "adagp/gpu/device/pieces.h"
#include "adagp/teams/comm/message.h"
#include "adagp/teams/parallel/process_team.h"
#include "adagp/teams/parallel/tensor_list.h"

namespace adagp::parallel {
namespace {

using core::cat;
using nlohmann::json;

constexpr int kFirstTag = 1 << 28;  // beyond those of the batches

at::Tensor like(const TensorNote& note) {
  return at::empty(note.sizes, note.type);
}

// Its path may differ between machines. What cannot be read is somebody else's error.
std::string contents_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<char> piece(1 << 20);
  uint32_t sum = 0;
  int64_t bytes = 0;
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
    sum = io::crc32c(piece.data(), static_cast<size_t>(in.gcount()), sum);
    bytes += in.gcount();
  }
  return cat(bytes, " bytes, crc32c ", sum);
}

// What must be the same everywhere, a line each.
std::string fingerprint(const config::RunConfig& config, const task::Task& task,
                        const models::Net& net, const Spec& spec) {
  core::Binding binding;
  config::RunConfig copy = config;
  config::bind(binding, copy);
  std::string text = cat("parallel: pipeline=", spec.pipeline, " stages=", spec.stages,
                         " chunks=", spec.chunks, " data=", spec.data, " gp=", spec.predict,
                         " sync-norm=", spec.sync_norm, " recompute=", spec.recompute, "\n");
  for (const auto& field : binding.fields()) {
    const std::string& key = field.key;
    // What may differ between machines.
    if (key == "device" || key == "threads" || key == "data.dir" || key == "augment.workers" ||
        key == "weights" || key == "model.backbone_weights") {
      continue;
    }
    text += cat(key, " = ", core::Binding::value_text(field), "\n");
  }
  // Each process takes another part of it.
  if (!config.weights.empty()) text += cat("weights file: ", contents_of(config.weights), "\n");
  text += cat("training examples: ", task.train_size(), "\n");
  uint64_t hash = 1469598103934665603ULL;
  for (const auto& item : net.named_parameters()) {
    for (const char c : cat(item.key(), item.value().sizes())) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
  }
  return text + cat("network: ", hash, "\n");
}

// Of the parameters that are here, a line each: name, space, sum. Bit patterns add up the same in
// any order. ATen adds up integers in a copy of 64 bits each.
std::string sums_of_weights(const models::Net& net) {
  std::string text;
  for (const auto& item : net.named_parameters()) {
    if (!nn::has_values(item.value())) continue;
    int64_t sum = 0;
    for (const at::Tensor& part : device::pieces(item.value().detach())) {
      sum += part.contiguous().view(at::kInt).sum().item<int64_t>();
    }
    text += cat(item.key(), " ", sum, "\n");
  }
  return text;
}

}  // namespace

void ProcessTeam::compare_weights(const models::Net& net) {
  const auto texts = world_->gather(sums_of_weights(net), "initial weights");
  std::map<std::string, std::pair<int, std::string>> first;  // name: who has it, sum
  for (size_t r = 0; r < texts.size(); ++r) {
    for (const std::string& line : core::split(texts[r], '\n')) {
      const size_t space = line.find(' ');
      if (space == std::string::npos) continue;
      const std::string name = line.substr(0, space), sum = line.substr(space + 1);
      const auto [known, added] = first.try_emplace(name, static_cast<int>(r), sum);
      if (added || known->second.second == sum) continue;
      throw UsageError(cat("rank ", r, " begins with other values of ", name, " than rank ",
                           known->second.first,
                           "; begin with one weights file (the same for all processes), or use "
                           "machines with processors of the same kind"));
    }
  }
}

void ProcessTeam::shake_hands(const config::RunConfig& config, const task::Task& task,
                              const models::Net& net) {
  const auto texts = world_->gather(fingerprint(config, task, net, spec_), "start of the run");
  const auto first = core::split(texts[0], '\n');
  for (size_t r = 1; r < texts.size(); ++r) {
    if (texts[r] == texts[0]) continue;
    const auto other = core::split(texts[r], '\n');
    for (size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
      if (first[i] == other[i]) continue;
      throw UsageError(cat("rank ", r, " was started with something else than rank 0: '", other[i],
                           "', not '", first[i],
                           "'; give all processes the same command, data and "
                           "program"));
    }
    throw UsageError(cat("rank ", r, " runs another version of this program than rank 0"));
  }
}

void ProcessTeam::collect(step::Session& session) {
  const at::NoGradGuard no_grad;
  if (leads()) {
    for (auto& item : session.net->named_parameters()) {
      if (!nn::has_values(item.value())) nn::make_room(item.value());
    }
    whole_ = true;
  }
  io::TensorMap all = run::state_dict(*session.net);
  // Norms of several copies have seen other examples. Running statistics are linear in what was
  // seen, so that the mean of them may be taken early or late.
  for (comm::Group* group : {pair_.get(), copies_.get()}) {
    if (group == nullptr) continue;
    std::vector<at::Tensor> buffers;
    for (const auto& item : session.net->named_buffers()) {
      if (own_.contains(item.key()) && item.value().is_floating_point()) {
        buffers.push_back(item.value());
      }
    }
    if (buffers.empty()) continue;
    group->sum(buffers, doing("running means"));
    for (at::Tensor& buffer : buffers) buffer.div_(static_cast<double>(group->size()));
  }
  world_->settle(doing("running means"));
  if (!pipe_ || copy_ != 0) return;
  std::vector<std::unique_ptr<comm::Transfer>> sent;
  int tag = kFirstTag;
  for (auto& [name, tensor] : all) {
    ++tag;
    // The first device that has it tells the leader.
    int owner = shape_.stages;
    for (int stage = 0; stage < placement_.stages; ++stage) {
      if (!stages_.names[static_cast<size_t>(stage)].contains(name)) continue;
      for (int replica = 0; replica < placement_.replicas; ++replica) {
        owner = std::min(owner, placement_.device_of(stage, replica));
      }
    }
    if (owner == 0) continue;
    if (device_ == owner) {
      sent.push_back(pipe_->send(tensor.detach(), 0, tag, "weights for the leader"));
    } else if (device_ == 0) {
      at::Tensor here = at::empty_like(tensor.detach());
      pipe_->receive(here, owner, tag, "weights for the leader")->wait();
      tensor.copy_(here);
    }
  }
  for (auto& transfer : sent) transfer->wait();
  session.optimizer->refresh_bf16_copies();
}

void ProcessTeam::release(step::Session& session) {
  if (begin_memory_ == 0) begin_memory_ = core::resident_memory();
  if (!std::exchange(whole_, false)) return;
  for (auto& item : session.net->named_parameters()) {
    if (elsewhere_.contains(item.key())) nn::drop_values(item.value(), session.device);
  }
}

bool ProcessTeam::wants(const std::string& entry) const {
  const auto rest = [](const std::string& text) { return text.substr(text.find('.') + 1); };
  if (entry.starts_with("net.")) return !elsewhere_.contains(rest(entry));
  // "optimizer.momentum.features.0.weight"
  return !entry.starts_with("optimizer.") || !elsewhere_.contains(rest(rest(entry)));
}

// Every process has left out other parts of its gradients.
std::map<std::string, at::Tensor> ProcessTeam::state() const {
  if (!compressor_) return {};
  std::map<std::string, at::Tensor> out;
  for (const auto& [name, tensor] : compressor_->state()) {
    out[cat("rank", world_->rank(), ".", name)] = tensor;
  }
  return out;
}

void ProcessTeam::load_state(const std::map<std::string, at::Tensor>& state) {
  const std::string own = cat("rank", world_->rank(), ".");
  saved_compressor_.clear();
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(own)) saved_compressor_[name.substr(own.size())] = tensor;
  }
  compressor_.reset();
}

std::string ProcessTeam::traffic() const {
  if (!copies_) return "";
  const auto each = [](const Sent& sent) {
    return core::human_bytes(sent.batches == 0 ? 0
                                               : sent.bytes / static_cast<double>(sent.batches));
  };
  return cat("each copy sent ", core::human_bytes(gradients_.bytes), " of gradients (",
             each(gradients_), " in each of ", gradients_.batches, " BP batches) and ",
             core::human_bytes(summaries_.bytes), " of summaries (", each(summaries_),
             " in each of ", summaries_.batches, " batches)");
}

std::string ProcessTeam::memory() {
  if (!pipe_) return "";
  const std::string own = cat(core::human_bytes(core::peak_memory()), " (",
                              core::human_bytes(begin_memory_), " before the first batch)");
  return "peak memory by process: " +
         core::join(world_->gather(own, "memory of the processes"), ", ");
}

void ProcessTeam::merge(run::Snapshot& snapshot) {
  if (world_->size() == 1) return;
  io::TensorMap own;
  for (const auto& [name, tensor] : snapshot.tensors) {
    if (!name.starts_with("net.")) own.emplace(name, tensor.detach());
  }
  const std::string doing = "state for the checkpoint";
  const auto texts = world_->gather(tensor_list(own).dump(), doing);
  std::vector<std::vector<TensorNote>> lists;
  for (const auto& text : texts) {
    const Teller teller{static_cast<int>(lists.size()), cat(doing, ", its list")};
    lists.push_back(told_tensors(teller, told_json(teller, text)));
  }
  std::set<std::string> known;
  for (const TensorNote& note : lists[0]) known.insert(note.name);
  int tag = kFirstTag;
  for (int r = 1; r < world_->size(); ++r) {
    for (const TensorNote& note : lists[static_cast<size_t>(r)]) {
      if (!known.insert(note.name).second) continue;
      ++tag;
      if (world_->rank() == r) {
        // One by one: only one copy in the order of the indices exists at a time.
        world_->send(own.at(note.name).cpu().contiguous(), 0, tag, doing)->wait();
      } else if (leads()) {
        at::Tensor here = like(note);
        world_->receive(here, r, tag, doing)->wait();
        snapshot.tensors[note.name] = here;
      }
    }
  }
}

void ProcessTeam::spread(std::optional<run::Snapshot>& snapshot) {
  json head;
  if (snapshot) {
    head = {{"step", snapshot->step},
            {"state", snapshot->state},
            {"tensors", tensor_list(snapshot->tensors)}};
  }
  const Teller leader{0, "the checkpoint"};
  head = told_json(leader, spread(head.dump()));
  if (head.is_null()) return;
  for (const char* key : {"step", "state", "tensors"}) {
    if (!head.contains(key)) comm::refuse_announced(leader.doing, 0, cat("no '", key, "'"));
  }
  if (!leads()) {
    snapshot.emplace();
    snapshot->step = told_number(leader, head["step"]);
    snapshot->state = head["state"];
  }
  for (const TensorNote& note : told_tensors(leader, head["tensors"])) {
    const std::string& name = note.name;
    at::Tensor tensor = leads() ? snapshot->tensors.at(name).cpu().contiguous() : like(note);
    world_->broadcast(tensor, 0, leader.doing);
    if (!wants(name)) {
      if (name.starts_with("optimizer.")) {
        snapshot->tensors.erase(name);
        continue;
      }
      nn::drop_values(tensor, at::kCPU);
    }
    snapshot->tensors[name] = tensor;
  }
}

std::string ProcessTeam::spread(const std::string& text) {
  at::Tensor size = at::full({1}, static_cast<int64_t>(text.size()), at::kLong);
  const std::string doing = "a message of the leader";
  world_->broadcast(size, 0, doing);
  const auto length = size.item<int64_t>();
  comm::check_announced(doing, 0, static_cast<int64_t>(at::kByte), {length});
  at::Tensor bytes = at::zeros({std::max<int64_t>(1, length)}, at::kByte);
  if (leads()) std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  world_->broadcast(bytes, 0, doing);
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(length)};
}

}  // namespace adagp::parallel
