#include "adagp/teams/comm/group.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "adagp/base/core/text.h"
#include "adagp/teams/comm/c10d_group.h"
#include "adagp/teams/comm/transfer.h"

namespace adagp::comm {
namespace {

class C10dGroup : public Group {
 public:
  C10dGroup(Ground ground, std::vector<int> members, const std::string& name)
      : ground_(std::move(ground)),
        gloo_(ground_.backend == "gloo"),
        members_(std::move(members)),
        name_(name) {
    const auto me = std::find(members_.begin(), members_.end(), ground_.rank);
    rank_ = static_cast<int>(me - members_.begin());
    const Attempt connecting = attempt("connecting the processes");
    connecting.run([&] {
      main_ = make("all");
      // nccl runs messages between two members one after another, so that two who send to each
      // other first would wait for ever: a lane for either direction.
      up_ = gloo_ || size() == 1 ? main_ : make("up");
      down_ = gloo_ || size() == 1 ? main_ : make("down");
    });
    // Those who are connected may leave at once, which others would take for a failure while they
    // still connect.
    std::vector<at::Tensor> row{at::zeros({1}, at::TensorOptions(ground_.device))};
    connecting.finish(*connecting.run([&] { return main_->allreduce(row); }));
  }

  ~C10dGroup() override {
    if (gloo_ || ground_.gpu_backends->aborted()) return;
    // Nccl complains when it is not told. This waits for its kernels.
    for (const auto& backend : {main_, up_, down_}) {
      try {
        if (backend) backend->shutdown();
      } catch (...) {  // on the way out after an error, the others may be gone
      }
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  int world_rank(int member) const override { return members_.at(member); }
  std::string backend() const override { return ground_.backend; }
  at::Device device() const override { return ground_.device; }

  void sum(std::vector<at::Tensor>& tensors, const std::string& doing) override {
    std::map<at::ScalarType, std::vector<at::Tensor>> kinds;
    for (const auto& tensor : tensors) {
      if (tensor.numel() > 0) kinds[tensor.scalar_type()].push_back(tensor);
    }
    for (auto& [type, kind] : kinds) {
      if (kind.size() == 1) {
        reduce_later(kind[0], doing, c10d::ReduceOp::SUM, false)->wait();
        continue;
      }
      std::vector<at::Tensor> rows;
      std::vector<int64_t> lengths;
      for (const auto& tensor : kind) {
        rows.push_back(row_of(tensor));
        lengths.push_back(tensor.numel());
      }
      at::Tensor together = at::cat(rows);
      reduce_later(together, doing, c10d::ReduceOp::SUM, false)->wait();
      const auto parts = together.split_with_sizes(lengths);
      for (size_t i = 0; i < kind.size(); ++i) put_row(parts[i], kind[i]);
    }
  }

  std::unique_ptr<Transfer> sum_later(const at::Tensor& tensor, const std::string& doing) override {
    return reduce_later(tensor, doing, c10d::ReduceOp::SUM, true);
  }
  // nccl divides while it adds, which saves a pass over memory.
  std::unique_ptr<Transfer> mean_later(const at::Tensor& tensor, const std::string& doing,
                                       bool beside) override {
    if (gloo_) return Group::mean_later(tensor, doing, beside);
    const auto op = size() == 1 ? c10d::ReduceOp::SUM : c10d::ReduceOp::AVG;
    return reduce_later(tensor, doing, op, beside);
  }

  void broadcast(at::Tensor& tensor, int from, const std::string& doing) override {
    FlatTensor wire(tensor, ground_.device, rank_ == from);
    if (wire.empty()) return;
    c10d::BroadcastOptions options;
    options.rootRank = from;
    std::vector<at::Tensor> rows{wire.row()};
    const Attempt sending = attempt(doing);
    sending.finish(*sending.run([&] { return main_->broadcast(rows, options); }));
    if (rank_ != from) wire.arrive();
  }

  std::vector<std::string> gather(const std::string& text, const std::string& doing) override {
    const at::Tensor own_length = at::full({1}, static_cast<int64_t>(text.size()), at::kLong);
    std::vector<at::Tensor> lengths = gather_rows(own_length, doing);
    int64_t longest = 1;
    for (const auto& length : lengths) longest = std::max(longest, length.item<int64_t>());
    at::Tensor own = at::zeros({longest}, at::kByte);
    std::copy(text.begin(), text.end(), own.data_ptr<uint8_t>());
    std::vector<std::string> texts;
    for (const auto& row : gather_rows(own, doing)) {
      const auto* bytes = row.data_ptr<uint8_t>();
      texts.emplace_back(bytes, bytes + lengths[texts.size()].item<int64_t>());
    }
    return texts;
  }

  std::vector<at::Tensor> gather_rows(const at::Tensor& row, const std::string& doing) override {
    std::vector<at::Tensor> own{row.contiguous().to(ground_.device)};
    std::vector<std::vector<at::Tensor>> all(1);
    for (int i = 0; i < size(); ++i) all[0].push_back(at::empty_like(own[0]));
    const Attempt gathering = attempt(doing);
    gathering.finish(*gathering.run([&] { return main_->allgather(all, own); }));
    for (auto& each : all[0]) each = each.to(row.device());
    return all[0];
  }

  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int to, int tag,
                                 const std::string& doing) override {
    FlatTensor wire(tensor, ground_.device, true);
    WorkPtr work;
    if (!wire.empty()) {
      std::vector<at::Tensor> rows{wire.row()};
      work = attempt(doing, to).run([&] { return lane(rank_, to)->send(rows, to, tag); });
    }
    // Nothing arrives in what was sent: the wire of a sender keeps the row alone.
    return std::make_unique<WorkTransfer>(
        attempt(doing, to), FlatTensor(wire.row(), ground_.device, true), work, !gloo_);
  }

  std::unique_ptr<Transfer> receive(at::Tensor tensor, int from, int tag,
                                    const std::string& doing) override {
    FlatTensor wire(tensor, ground_.device, false);
    WorkPtr work;
    if (!wire.empty()) {
      std::vector<at::Tensor> rows{wire.row()};
      work = attempt(doing, from).run([&] { return lane(from, rank_)->recv(rows, from, tag); });
    }
    return std::make_unique<WorkTransfer>(attempt(doing, from), std::move(wire), work, !gloo_);
  }

  void wait_for(int member, const std::string& doing) override {
    const std::string key = core::cat("waits/", name_, "/", waits_++);
    if (rank_ == member) {
      attempt(doing).run([&] { ground_.store->set(key, "1"); });
      return;
    }
    using Clock = Attempt::Clock;
    const Attempt waiting = attempt(doing, member);
    const auto begin = Clock::now();
    auto looked = begin;
    while (!waiting.run([&] { return ground_.store->check({key}); })) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (Clock::now() - looked < Peers::kLookPeriod) continue;
      looked = Clock::now();
      if (!ground_.peers->at_fault(waiting.peer)) continue;
      throw waiting.failed("it will not come", begin, waiting.peer);
    }
  }

  void await(c10::Event& event, const std::string& doing) override {
    attempt(doing).until([&] { return event.query(); });
  }

  void settle(const std::string& doing) override {
    if (gloo_) return;
    c10::Event done(c10::DeviceType::CUDA);
    done.record(c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getStream(ground_.device));
    await(done, doing);
  }

  std::unique_ptr<Group> split(int colour, const std::string& name) override {
    const std::string own = std::to_string(colour);
    const auto colours = gather(own, core::cat("splitting the processes: ", name));
    std::vector<int> members;
    for (int member = 0; member < size(); ++member) {
      if (colours[member] == own) members.push_back(members_[member]);
    }
    const std::string full = core::cat(name_, "/", splits_++, "-", name, "-", colour);
    return std::make_unique<C10dGroup>(ground_, std::move(members), full);
  }

  void tell_failure(const std::string& message) const noexcept override {
    ground_.peers->tell(message);
  }

 private:
  BackendPtr make(const std::string& part) const {
    BackendRequest request;
    request.store =
        c10::make_intrusive<c10d::PrefixStore>(core::cat(name_, "/", part), ground_.store);
    request.rank = rank_;
    request.size = size();
    request.timeout = ground_.peers->timeout();
    request.master = ground_.master;
    if (gloo_) return make_gloo(request);
    BackendPtr made = make_nccl(request);
    ground_.gpu_backends->add(made);
    return made;
  }

  std::unique_ptr<Transfer> reduce_later(const at::Tensor& tensor, const std::string& doing,
                                         c10d::ReduceOp::RedOpType op, bool beside) {
    FlatTensor wire(tensor, ground_.device, true);
    WorkPtr work;
    if (!wire.empty()) {
      std::vector<at::Tensor> rows{wire.row()};
      c10d::AllreduceOptions options;
      options.reduceOp = op;
      options.asyncOp = beside;  // nccl: else on the present stream
      work = attempt(doing).run([&] { return main_->allreduce(rows, options); });
      // On the present stream nccl has nothing to wait for: what comes behind it finds the result.
      if (work == nullptr) {
        if (!tensor.is_cuda()) settle(doing);
        wire.arrive();
      }
    }
    return std::make_unique<WorkTransfer>(attempt(doing), std::move(wire), work, true);
  }

  const BackendPtr& lane(int from, int to) const { return from < to ? up_ : down_; }

  Attempt attempt(const std::string& doing, int member = -1) const {
    return {ground_.peers, ground_.gpu_backends, doing, member < 0 ? -1 : members_.at(member)};
  }

  Ground ground_;
  bool gloo_;                 // else nccl
  std::vector<int> members_;  // ranks in the world
  std::string name_;
  int rank_ = 0;
  int splits_ = 0, waits_ = 0;
  BackendPtr main_, up_, down_;
};

}  // namespace

std::unique_ptr<Transfer> Group::mean_later(const at::Tensor& tensor, const std::string& doing,
                                            bool) {
  return std::make_unique<MeanTransfer>(sum_later(tensor, doing), tensor, size());
}

void Group::await(c10::Event& event, const std::string&) {
  event.synchronize();
}

void Group::settle(const std::string&) {}

std::unique_ptr<Group> make_group(const Ground& ground, std::vector<int> members,
                                  const std::string& name) {
  return std::make_unique<C10dGroup>(ground, std::move(members), name);
}

}  // namespace adagp::comm
