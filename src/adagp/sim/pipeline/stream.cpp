#include "adagp/sim/pipeline/stream.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

void append(OpList& to, const OpList& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Stream::Stream(const Placement& placement, bool overlap)
    : placement_(placement),
      schedule_(&find_schedule(placement.schedule)),
      overlap_(overlap && schedule_->place),
      waiting_(static_cast<size_t>(placement.devices)),
      lists_(static_cast<size_t>(placement.devices)) {}

const std::vector<OpList>& Stream::next(Phase phase) {
  const bool predict = phase == Phase::kPredict;
  if (overlap_) {
    const int64_t end = start_ + placement_.micro_batches;
    for (int d = 0; d < placement_.devices; ++d) {
      place_batch(d, phase);
      release(d, predict ? end : std::numeric_limits<int64_t>::max());
    }
    start_ = predict ? end : 0;
    ++batch_;
    return lists_;
  }
  std::vector<OpList>& lists = kept_[static_cast<size_t>(phase)];
  if (lists.empty()) {
    for (int d = 0; d < placement_.devices; ++d) lists.push_back(batch_ops(placement_, d, phase));
  }
  for (OpList& ops : lists) set_batch(ops, batch_, phase);
  ++batch_;
  return lists;
}

// Each stage of a GP batch is updated as soon as its own forward passes are done: the next batch's
// may then come to it before the batch's last ones have come to the device's other stage.
void Stream::place_batch(int device, Phase phase) {
  const OpList order = schedule_->order(placement_, device, phase);
  auto& waiting = waiting_[static_cast<size_t>(device)];
  const size_t before = waiting.size();
  for (const Op& op : order) {
    waiting.push_back({start_ + schedule_->place(placement_, op, phase), {}});
    add_with_messages(placement_, op, waiting.back().ops);
  }
  if (phase == Phase::kPredict) {
    for (int replica = 0; replica < placement_.replicas; ++replica) {
      const auto last = std::find_if(order.rbegin(), order.rend(),
                                     [&](const Op& op) { return op.replica == replica; });
      OpList& ops = waiting[before + static_cast<size_t>(order.rend() - last) - 1].ops;
      ops.push_back(all_reduce(placement_, last->stage, replica));
      ops.push_back(compute(Kind::kPredictUpdate, -1, last->stage, replica));
    }
  } else {
    add_batch_end(placement_, device, phase, waiting.back().ops);
  }
  for (size_t i = before; i < waiting.size(); ++i) set_batch(waiting[i].ops, batch_, phase);
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const Placed& a, const Placed& b) { return a.place < b.place; });
}

void Stream::release(int device, int64_t before) {
  auto& waiting = waiting_[static_cast<size_t>(device)];
  OpList& list = lists_[static_cast<size_t>(device)];
  list.clear();
  size_t taken = 0;
  while (taken < waiting.size() && waiting[taken].place < before)
    append(list, waiting[taken++].ops);
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(taken));
}

const std::vector<OpList>& Stream::finish() {
  for (OpList& list : lists_) list.clear();
  for (int d = 0; d < placement_.devices; ++d) release(d, std::numeric_limits<int64_t>::max());
  start_ = 0;
  return lists_;
}

void Stream::skip(int32_t batches) {
  batch_ += batches;
  for (auto& waiting : waiting_) {
    for (Placed& placed : waiting) {
      for (Op& op : placed.ops) op.batch += batches;
    }
  }
}

OpLists make_op_lists(const Request& request) {
  OpLists op_lists;
  op_lists.placement = make_placement(request);
  op_lists.phases = request.phases;
  op_lists.devices.resize(static_cast<size_t>(op_lists.placement.devices));
  Stream stream(op_lists.placement, request.overlap);
  const auto add = [&](const std::vector<OpList>& lists) {
    for (size_t d = 0; d < lists.size(); ++d) append(op_lists.devices[d], lists[d]);
  };
  for (const Phase phase : request.phases) add(stream.next(phase));
  add(stream.finish());
  return op_lists;
}

}  // namespace adagp::pipeline
