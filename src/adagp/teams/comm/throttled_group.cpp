#include "adagp/teams/comm/throttled_group.h"

#include <algorithm>
#include <thread>

#include "adagp/base/core/error.h"

namespace adagp::comm {
namespace {

using Clock = std::chrono::steady_clock;

class LateTransfer : public Transfer {
 public:
  LateTransfer(std::unique_ptr<Transfer> inner, Clock::time_point end)
      : inner_(std::move(inner)), end_(end) {}
  void wait() override {
    inner_->wait();
    std::this_thread::sleep_until(end_);
  }
  bool done() override { return Clock::now() >= end_ && inner_->done(); }

 private:
  std::unique_ptr<Transfer> inner_;
  Clock::time_point end_;
};

class ThrottledGroup : public Group {
 public:
  ThrottledGroup(std::unique_ptr<Group> inner, const Link& link)
      : inner_(std::move(inner)), link_(link) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  int world_rank(int member) const override { return inner_->world_rank(member); }
  std::string backend() const override { return inner_->backend(); }
  at::Device device() const override { return inner_->device(); }

  void sum(std::vector<at::Tensor>& tensors, const std::string& doing) override {
    int64_t bytes = 0;
    for (const at::Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
    inner_->sum(tensors, doing);  // the link is used when the last member has come
    std::this_thread::sleep_until(end_of_sum(bytes));
  }
  std::unique_ptr<Transfer> sum_later(const at::Tensor& tensor, const std::string& doing) override {
    const auto end = end_of_sum(static_cast<int64_t>(tensor.nbytes()));
    return std::make_unique<LateTransfer>(inner_->sum_later(tensor, doing), end);
  }
  std::vector<at::Tensor> gather_rows(const at::Tensor& row, const std::string& doing) override {
    auto rows = inner_->gather_rows(row, doing);
    std::this_thread::sleep_until(end_of(size() - 1, static_cast<double>(row.nbytes())));
    return rows;
  }

  void broadcast(at::Tensor& tensor, int from, const std::string& doing) override {
    inner_->broadcast(tensor, from, doing);
  }
  std::vector<std::string> gather(const std::string& text, const std::string& doing) override {
    return inner_->gather(text, doing);
  }
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int to, int tag,
                                 const std::string& doing) override {
    return inner_->send(tensor, to, tag, doing);
  }
  std::unique_ptr<Transfer> receive(at::Tensor tensor, int from, int tag,
                                    const std::string& doing) override {
    return inner_->receive(std::move(tensor), from, tag, doing);
  }
  void wait_for(int member, const std::string& doing) override { inner_->wait_for(member, doing); }
  std::unique_ptr<Group> split(int colour, const std::string& name) override {
    return inner_->split(colour, name);
  }
  void tell_failure(const std::string& message) const noexcept override {
    inner_->tell_failure(message);
  }

 private:
  Clock::time_point end_of_sum(int64_t bytes) {
    return end_of(2 * (size() - 1), static_cast<double>(bytes) / size());
  }
  // When so many messages of so many bytes, begun now or when the link is free, have passed.
  Clock::time_point end_of(int messages, double bytes) {
    const double transfer = link_.bandwidth > 0 ? bytes / link_.bandwidth : 0;
    const std::chrono::duration<double> time(messages * (link_.latency + transfer));
    free_ = std::max(free_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(time);
    return free_;
  }

  std::unique_ptr<Group> inner_;
  Link link_;
  Clock::time_point free_{};  // the link
};

}  // namespace

std::unique_ptr<Group> throttled(std::unique_ptr<Group> group, const Link& link) {
  if (!link.any()) return group;
  if (group->backend() == "nccl") {
    throw UsageError(
        "--parallel: copy-bandwidth and copy-latency slow the exchange over gloo alone, and this "
        "one is over nccl, which a host cannot delay; add backend=gloo, or leave them out");
  }
  return std::make_unique<ThrottledGroup>(std::move(group), link);
}

}  // namespace adagp::comm
