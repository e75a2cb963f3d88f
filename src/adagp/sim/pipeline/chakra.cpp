#include "adagp/sim/pipeline/chakra.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "adagp/base/core/text.h"
#include "adagp/base/io/wire.h"
#include "adagp/sim/pipeline/stream.h"

namespace adagp::pipeline {
namespace {

using io::WireWriter;

// Field numbers of et_def.proto.
constexpr uint32_t kMetadataVersion = 1, kMetadataAttribute = 2;
constexpr uint32_t kNodeId = 1, kNodeName = 2, kNodeType = 3, kNodeControl = 4, kNodeData = 5,
                   kNodeDuration = 7, kNodeAttribute = 10;
constexpr uint32_t kAttributeName = 1, kDouble = 3, kInt32 = 7, kInt64 = 9, kBool = 27,
                   kString = 29;
enum class NodeType : uint64_t { kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };
constexpr uint64_t kAllReduce = 0;  // CollectiveCommType
constexpr const char* kVersion = "1.0.0";

constexpr double kLeastMicros = 1000, kMostScale = 1e18;
constexpr size_t kBuffer = 1 << 16;

uint64_t whole_number(double value) {
  constexpr double kMost = 9e18;
  return static_cast<uint64_t>(std::llround(std::min(value, kMost)));
}

WireWriter attribute(std::string_view name) {
  WireWriter out;
  out.bytes(kAttributeName, name);
  return out;
}

class Node {
 public:
  Node(uint64_t id, std::string_view name, NodeType type, const std::vector<uint64_t>& control,
       const std::vector<uint64_t>& data, uint64_t micros = 0) {
    out_.varint(kNodeId, id);
    out_.bytes(kNodeName, name);
    out_.varint(kNodeType, static_cast<uint64_t>(type));
    out_.packed(kNodeControl, control);
    out_.packed(kNodeData, data);
    if (micros > 0) out_.varint(kNodeDuration, micros);
    whole("is_cpu_op", kBool, 0);
  }
  void whole(std::string_view name, uint32_t kind, uint64_t value) {
    WireWriter out = attribute(name);
    out.varint(kind, value);
    out_.bytes(kNodeAttribute, out.str());
  }
  void text(std::string_view name, std::string_view value) {
    WireWriter out = attribute(name);
    out.bytes(kString, value);
    out_.bytes(kNodeAttribute, out.str());
  }
  const std::string& str() const { return out_.str(); }

 private:
  WireWriter out_;
};

std::string metadata(const Work& work, double scale) {
  WireWriter unit = attribute("time_unit"), micros = attribute("micros_per_unit"), out;
  unit.bytes(kString, work.unit);
  micros.number(kDouble, scale);
  out.bytes(kMetadataVersion, kVersion);
  out.bytes(kMetadataAttribute, unit.str());
  out.bytes(kMetadataAttribute, micros.str());
  return out.str();
}

// Tells messages between two ranks apart: batch (the last 64), boundary, direction, micro-batch.
uint64_t message_tag(const Placement& placement, const Op& op) {
  const auto boundary = static_cast<uint64_t>(boundary_of(op));
  const auto micros = static_cast<uint64_t>(placement.micro_batches);
  const uint64_t message = (boundary * micros + static_cast<uint64_t>(op.micro)) * 4 +
                           (op.gradient ? 2 : 0) + static_cast<uint64_t>(op.replica);
  return static_cast<uint64_t>(op.batch % 64) << 24 | message;
}

bool has_collectives(const Work& work) {
  return work.placement.replicas * work.costs.copies.count > 1;
}

// What a device has done so far; its copies have done the same.
struct DeviceState {
  uint64_t next = 1, before = 0;    // ids; before: the last pass or blocking collective
  std::vector<uint64_t> arrived;    // receives and collectives that the next pass waits for
  std::vector<uint64_t> exchanges;  // that the next update waits for
};

class ChakraWriter {
 public:
  ChakraWriter(const Work& work, int64_t first, int64_t last, const WriteRank& write)
      : work_(work),
        first_(first),
        last_(last),
        write_(write),
        scale_(micros_per_unit(work)),
        times_(work.placement, work.costs),
        buffers_(static_cast<size_t>(last - first)) {
    devices_.resize(static_cast<size_t>(work.placement.devices));
    for (auto& passes : passes_) passes.assign(static_cast<size_t>(work.placement.stages), 0);
    const std::string head = metadata(work, scale_);
    for (WireWriter& buffer : buffers_) buffer.delimited(head);
  }

  void write() {
    const Sequence& sequence = work_.sequence;
    Stream stream(work_.placement, work_.overlap);
    for (int64_t i = 0; i < sequence.batches; ++i) {
      add(stream.next(sequence.cycle[static_cast<size_t>(i) % sequence.cycle.size()]));
    }
    add(stream.finish());
    for (size_t i = 0; i < buffers_.size(); ++i) flush(i);
  }

 private:
  void add(const std::vector<OpList>& lists) {
    for (size_t device = 0; device < lists.size(); ++device) {
      if (!any_copy(device)) continue;
      for (const Op& op : lists[device]) add(static_cast<int>(device), op);
    }
  }

  bool any_copy(size_t device) const {
    bool any = false;
    each_copy(static_cast<int>(device), [&](int64_t, size_t) { any = true; });
    return any;
  }

  // Calls use(first rank of the copy, buffer) for each copy of the device that is written now.
  template <typename Use>
  void each_copy(int device, const Use& use) const {
    const int64_t devices = work_.placement.devices;
    for (int64_t copy = std::max<int64_t>(0, (first_ - device) / devices);
         copy < work_.costs.copies.count && copy * devices + device < last_; ++copy) {
      const int64_t rank = copy * devices + device;
      if (rank >= first_) use(copy * devices, static_cast<size_t>(rank - first_));
    }
  }

  void add(int device, const Op& op) {
    DeviceState& state = devices_[static_cast<size_t>(device)];
    switch (op.kind) {
      case Kind::kSend:
      case Kind::kReceive:
        return message(device, op, state);
      case Kind::kAllReduce:
        state.before = collective(device, op, state);
        return;
      default:
        pass(device, op, state);
    }
  }

  std::vector<uint64_t> behind(const DeviceState& state) const {
    return state.before == 0 ? std::vector<uint64_t>{} : std::vector<uint64_t>{state.before};
  }

  void pass(int device, const Op& op, DeviceState& state) {
    const bool update = op.kind == Kind::kOptimizer || op.kind == Kind::kPredictUpdate;
    std::vector<uint64_t> data = std::exchange(state.arrived, {});
    if (update) {
      data.insert(data.end(), state.exchanges.begin(), state.exchanges.end());
      state.exchanges.clear();
    }
    const uint64_t micros = whole_number(scale_ * times_.duration(device, op));
    const uint64_t id = state.next++;
    Node node(id, describe(op), NodeType::kCompute, behind(state), data, micros);
    node.text("phase", phase_title(op.phase));
    each_copy(device, [&](int64_t, size_t buffer) { append(buffer, node); });
    state.before = id;
    if (work_.costs.copies.count == 1 || work_.placement.replicas > 1 || !adds_to_exchange(op)) {
      return;
    }
    int& passes = passes_[static_cast<size_t>(op.phase)][static_cast<size_t>(op.stage)];
    if (++passes < work_.placement.micro_batches) return;
    passes = 0;
    Op reduce = op;
    reduce.kind = Kind::kAllReduce;
    reduce.micro = -1;
    state.exchanges.push_back(collective(device, reduce, state));
  }

  void message(int device, const Op& op, DeviceState& state) {
    const bool sends = op.kind == Kind::kSend;
    const uint64_t id = state.next++;
    const uint64_t bytes = whole_number(message_bytes(work_.placement, work_.costs, op));
    const uint64_t tag = message_tag(work_.placement, op);
    each_copy(device, [&](int64_t base, size_t buffer) {
      const auto self = static_cast<uint64_t>(base + device);
      const auto peer = static_cast<uint64_t>(base + op.peer);
      // A send takes what the pass before it made; a receive is asked for behind it.
      const std::vector<uint64_t> before = behind(state), none;
      Node node(id, describe(op), sends ? NodeType::kSend : NodeType::kReceive,
                sends ? none : before, sends ? before : none);
      node.whole("comm_src", kInt32, sends ? self : peer);
      node.whole("comm_dst", kInt32, sends ? peer : self);
      node.whole("comm_tag", kInt32, tag);
      node.whole("comm_size", kInt64, bytes);
      append(buffer, node);
    });
    if (!sends) state.arrived.push_back(id);
  }

  uint64_t collective(int device, Op op, DeviceState& state) {
    op.peer = -1;  // one name for all members
    const uint64_t id = state.next++;
    const StageCost& cost = work_.costs.stages[static_cast<size_t>(op.stage)];
    Node node(id, describe(op), NodeType::kCollective, {}, behind(state));
    node.whole("comm_type", kInt64, kAllReduce);
    node.whole("comm_size", kInt64, whole_number(exchanged_bytes(cost, op.phase)));
    node.text("pg_name", std::to_string(op.stage));
    each_copy(device, [&](int64_t, size_t buffer) { append(buffer, node); });
    return id;
  }

  void append(size_t buffer, const Node& node) {
    buffers_[buffer].delimited(node.str());
    if (buffers_[buffer].str().size() >= kBuffer) flush(buffer);
  }
  void flush(size_t buffer) {
    write_(first_ + static_cast<int64_t>(buffer), buffers_[buffer].str());
    buffers_[buffer] = {};
  }

  const Work& work_;
  int64_t first_, last_;
  const WriteRank& write_;
  double scale_;
  Cluster times_;
  std::vector<WireWriter> buffers_;
  std::vector<DeviceState> devices_;
  std::vector<int> passes_[3];  // of the batch so far, per phase and stage
};

}  // namespace

int64_t chakra_ranks(const Work& work) {
  return int64_t{work.placement.devices} * work.costs.copies.count;
}

double micros_per_unit(const Work& work) {
  const auto& cycle = work.sequence.cycle;
  const bool low = std::find(cycle.begin(), cycle.end(), Phase::kLowRes) != cycle.end();
  double shortest = 0;
  for (const StageCost& cost : work.costs.stages) {
    for (const double time : {work.placement.gp_share * cost.forward, cost.forward, cost.backward,
                              cost.input_gradient, cost.weight_gradient}) {
      if (time > 0) shortest = shortest == 0 ? time : std::min(shortest, time);
    }
  }
  if (low) shortest *= work.placement.low_share;
  double scale = 1;
  while (shortest > 0 && shortest * scale < kLeastMicros && scale < kMostScale) scale *= 10;
  return scale;
}

void write_chakra(const Work& work, int64_t first, int64_t last, const WriteRank& write) {
  ChakraWriter(work, first, last, write).write();
}

std::vector<std::pair<std::string, std::vector<int64_t>>> chakra_groups(const Work& work) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> groups;
  const Placement& placement = work.placement;
  for (int stage = 0; has_collectives(work) && stage < placement.stages; ++stage) {
    std::set<int64_t> ranks;
    for (int64_t copy = 0; copy < work.costs.copies.count; ++copy) {
      for (int replica = 0; replica < placement.replicas; ++replica) {
        ranks.insert(copy * placement.devices + placement.device_of(stage, replica));
      }
    }
    groups.emplace_back(std::to_string(stage), std::vector<int64_t>(ranks.begin(), ranks.end()));
  }
  return groups;
}

}  // namespace adagp::pipeline
