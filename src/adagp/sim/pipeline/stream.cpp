#include "adagp/sim/pipeline/stream.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

void append(OpList& to, const OpList& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The ops of a cheap batch (0) and a BP batch (1) that run together, per device. The updates keep
// the order of the batches.
std::vector<OpList> pair_ops(const Placement& placement, Phase cheap) {
  std::vector<OpList> out;
  for (const OpList& order : schedule_of(placement).pair(placement, cheap)) {
    OpList ops;
    for (const Op& op : order) add_with_messages(placement, op, ops);
    for (const Phase phase : {cheap, Phase::kBackprop}) {
      OpList end;
      add_batch_end(placement, static_cast<int>(out.size()), phase, end);
      set_batch(end, phase == Phase::kBackprop ? 1 : 0, phase);
      append(ops, end);
    }
    out.push_back(std::move(ops));
  }
  return out;
}

}  // namespace

Stream::Stream(const Placement& placement, bool overlap)
    : placement_(placement),
      schedule_(&schedule_of(placement_)),
      overlap_(overlap && schedule_->place),
      pairs_(overlap && schedule_->pair),
      waiting_(static_cast<size_t>(placement.devices)),
      lists_(static_cast<size_t>(placement.devices)) {}

const std::vector<OpList>& Stream::next(Phase phase) {
  if (pairs_) return next_or_pair(phase);
  if (!overlap_) return whole_batch(phase, batch_++);
  const bool predict = phase == Phase::kPredict;
  const int64_t end = start_ + int64_t{placement_.micro_batches} * placement_.chunks();
  for (int d = 0; d < placement_.devices; ++d) {
    place_batch(d, phase);
    release(d, predict ? end : std::numeric_limits<int64_t>::max());
  }
  start_ = predict ? end : 0;
  ++batch_;
  return lists_;
}

const std::vector<OpList>& Stream::whole_batch(Phase phase, int32_t batch) {
  std::vector<OpList>& lists = kept_[static_cast<size_t>(phase)];
  if (lists.empty()) {
    for (int d = 0; d < placement_.devices; ++d) lists.push_back(batch_ops(placement_, d, phase));
  }
  for (OpList& ops : lists) set_batch(ops, batch, phase);
  return lists;
}

const std::vector<OpList>& Stream::pair(Phase cheap, int32_t batch) {
  std::vector<OpList>& kept = kept_pair_[static_cast<size_t>(cheap)];
  if (kept.empty()) kept = pair_ops(placement_, cheap);
  pair_ = kept;
  for (OpList& ops : pair_) {
    for (Op& op : ops) op.batch += batch;
  }
  return pair_;
}

// A GP or low-resolution batch runs with the next batch if that is BP, else alone.
const std::vector<OpList>& Stream::next_or_pair(Phase phase) {
  const std::optional<Phase> held = held_;
  held_.reset();
  if (phase != Phase::kBackprop) held_ = phase;
  const int32_t batch = batch_++;
  if (!held) return held_ ? nothing() : whole_batch(phase, batch);
  return held_ ? whole_batch(*held, batch - 1) : pair(*held, batch - 1);
}

const std::vector<OpList>& Stream::nothing() {
  for (OpList& list : lists_) list.clear();
  return lists_;
}

// Each stage of a GP batch is updated as soon as its own forward passes are done: the next batch's
// may then come to it before the batch's last ones have come to the device's other stage.
void Stream::place_batch(int device, Phase phase) {
  const OpList order = schedule_->order(placement_, device, phase);
  auto& waiting = waiting_[static_cast<size_t>(device)];
  const size_t before = waiting.size();
  for (const Op& op : order) {
    const size_t index = waiting.size() - before;
    waiting.push_back({start_ + schedule_->place(placement_, op, phase, index), {}});
    add_with_messages(placement_, op, waiting.back().ops);
  }
  if (phase == Phase::kPredict) {
    add_updates(order, before, waiting);
  } else {
    add_batch_end(placement_, device, phase, waiting.back().ops);
  }
  for (size_t i = before; i < waiting.size(); ++i) set_batch(waiting[i].ops, batch_, phase);
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const Placed& a, const Placed& b) { return a.place < b.place; });
}

// After the last pass of each stage. `order` stands in `placed` from `first` on.
void Stream::add_updates(const OpList& order, size_t first, std::vector<Placed>& placed) const {
  std::set<std::pair<int32_t, int32_t>> updated;  // stage, replica
  for (size_t i = order.size(); i-- > 0;) {
    const Op& last = order[i];
    if (!updated.emplace(last.stage, last.replica).second) continue;
    OpList& ops = placed[first + i].ops;
    if (placement_.replicas > 1) ops.push_back(all_reduce(placement_, last.stage, last.replica));
    ops.push_back(compute(Kind::kPredictUpdate, -1, last.stage, last.replica));
  }
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
  if (const auto held = std::exchange(held_, std::nullopt)) return whole_batch(*held, batch_ - 1);
  nothing();
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
