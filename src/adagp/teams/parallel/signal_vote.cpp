#include "adagp/teams/parallel/signal_vote.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace adagp::parallel {
namespace {

constexpr int64_t kSignals = 65;

int largest(const at::Tensor& told) {
  const auto* counts = told.const_data_ptr<int64_t>();
  for (int64_t s = kSignals - 1; s > 0; --s) {
    if (counts[s] > 0) return static_cast<int>(s);
  }
  return 0;
}

}  // namespace

SignalVote::SignalVote(comm::Group& group) : group_(group) {
  told_ = at::zeros({kSignals}, at::device(group.device()).dtype(at::kLong));
  if (told_.is_cpu()) return;
  for (Answer& answer : answers_) {
    answer.arrived.emplace(c10::DeviceType::CUDA);
    answer.told = at::zeros({kSignals}, at::device(at::kCPU).dtype(at::kLong).pinned_memory(true));
  }
}

int SignalVote::ask(int signal, bool now, const std::string& doing) {
  if (signal > 0 && signal < kSignals) told_.narrow(0, signal, 1).fill_(1);
  std::vector<at::Tensor> all{told_};
  group_.sum(all, doing);
  return told_.is_cpu() ? largest(told_) : ask_device(now, doing);
}

int SignalVote::ask_device(bool now, const std::string& doing) {
  Answer& newest = answers_[static_cast<size_t>(asked_ % 2)];
  Answer& before = answers_[static_cast<size_t>((asked_ + 1) % 2)];
  newest.told.copy_(told_, true);
  newest.arrived->record(
      c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getStream(told_.device()));
  ++asked_;
  if (!now && asked_ == 1) return 0;
  Answer& heard = now ? newest : before;
  group_.await(*heard.arrived, doing);
  return largest(heard.told);
}

}  // namespace adagp::parallel
