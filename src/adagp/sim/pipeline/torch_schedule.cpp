#include "adagp/sim/pipeline/torch_schedule.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/pipeline/orders.h"
#include "adagp/sim/pipeline/simulate.h"

namespace adagp::pipeline {
namespace {

constexpr int kMostStages = 4096, kMostMicros = 65536;
constexpr size_t kMostPairs = size_t{1} << 21;  // stages x micro-batches, as make_placement()
constexpr size_t kMostCells = 3 * kMostPairs, kMostShown = 40;

struct Letter {
  char letter;
  Kind kind;
};
constexpr Letter kLetters[] = {{'F', Kind::kForward},
                               {'B', Kind::kBackward},
                               {'I', Kind::kInputGradient},
                               {'W', Kind::kWeightGradient}};

// Digits at the start of `text`, which they leave; nothing when there are none, or too large a
// number.
std::optional<int> take_number(std::string_view& text, int most) {
  size_t digits = 0;
  int value = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) {
    value = 10 * value + (text[digits++] - '0');
    if (value > most) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

class ScheduleReader {
 public:
  ScheduleReader(std::string_view text, const std::string& name) : name_(name) {
    for (const std::string& line : core::split(core::without_byte_order_mark(text), '\n')) {
      ++line_;
      if (core::trim(line).empty()) continue;
      if (lists_.size() == kMostStages) fail(core::cat("more than ", kMostStages, " devices"));
      lists_.emplace_back();
      for (const std::string& cell : core::split(line, ',')) read_cell(core::trim(cell));
    }
    check_stages();
    check_passes();
  }
  std::vector<OpList> take_lists() { return std::move(lists_); }
  const std::vector<int>& homes() const { return homes_; }
  int micro_batches() const { return micro_batches_; }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(core::cat(name_, ": ", what));
  }
  [[noreturn]] void refuse(const std::string& cell) const {
    fail(core::cat("line ", line_, ": '", cell.substr(0, kMostShown), "', expected a stage below ",
                   kMostStages, ", F, B, I or W and a micro-batch below ", kMostMicros,
                   ", as in 0F3 (PyTorch's format compute_only)"));
  }

  void read_cell(const std::string& cell) {
    constexpr std::string_view kOverlap = ")OVERLAP_F_B";
    if (cell.empty()) return;
    if (cell.front() != '(') return read_pass(cell);
    if (!cell.ends_with(kOverlap)) refuse(cell);
    const auto inner = std::string_view(cell).substr(1, cell.size() - kOverlap.size() - 1);
    for (const std::string& part : core::split(inner, ';')) read_pass(core::trim(part));
  }

  void read_pass(const std::string& cell) {
    std::string_view rest = cell;
    const auto stage = take_number(rest, kMostStages - 1);
    if (!stage) refuse(cell);
    if (rest == "REDUCE_GRAD") return;
    const auto* const letter =
        std::find_if(std::begin(kLetters), std::end(kLetters),
                     [&](const Letter& one) { return rest.starts_with(one.letter); });
    if (letter == std::end(kLetters)) refuse(cell);
    rest.remove_prefix(1);
    const auto micro = take_number(rest, kMostMicros - 1);
    if (!micro || !rest.empty()) refuse(cell);
    if (++cells_ > kMostCells) fail(core::cat("more than ", kMostCells, " passes"));
    lists_.back().push_back(compute(letter->kind, *micro, *stage));
    stages_ = std::max(stages_, *stage + 1);
    micro_batches_ = std::max(micro_batches_, *micro + 1);
  }

  // Every stage on one device, every device with equally many.
  void check_stages() {
    if (lists_.empty() || cells_ == 0) fail("no passes in it, expected a line for each device");
    homes_.assign(static_cast<size_t>(stages_), -1);
    std::vector<int> held(lists_.size(), 0);
    for (size_t d = 0; d < lists_.size(); ++d) {
      for (const Op& op : lists_[d]) {
        int& home = homes_[static_cast<size_t>(op.stage)];
        if (home < 0) ++held[d];
        if (home >= 0 && home != static_cast<int>(d)) {
          fail(core::cat("stage ", op.stage, " on the devices ", home, " and ", d,
                         ", expected one device"));
        }
        home = static_cast<int>(d);
      }
    }
    const auto empty = std::find(homes_.begin(), homes_.end(), -1);
    if (empty != homes_.end()) {
      fail(core::cat("no pass of stage ", empty - homes_.begin(), ", expected the stages 0 to ",
                     stages_ - 1));
    }
    for (size_t d = 0; d < held.size(); ++d) {
      if (held[d] == held[0]) continue;
      fail(core::cat("device ", d, " has ", held[d], " stages, device 0 has ", held[0],
                     ", expected equally many"));
    }
  }

  // Of every stage and micro-batch a forward pass and after it a backward pass, whole or in halves.
  void check_passes() const {
    if (homes_.size() * static_cast<size_t>(micro_batches_) > kMostPairs) {
      fail(core::cat(stages_, " stages x ", micro_batches_, " micro-batches, expected at most ",
                     kMostPairs));
    }
    constexpr unsigned kF = 1, kI = 2, kW = 4;
    std::vector<unsigned> done(homes_.size() * static_cast<size_t>(micro_batches_), 0);
    for (const OpList& list : lists_) {
      for (const Op& op : list) {
        unsigned& state = done[index_of(op.stage, op.micro)];
        const unsigned before = op.kind == Kind::kForward          ? 0
                                : op.kind == Kind::kWeightGradient ? kF | kI
                                                                   : kF;
        if (state != before) fail(core::cat(describe(op), ": twice, or before what it needs"));
        state |= op.kind == Kind::kForward ? kF : op.kind == Kind::kInputGradient ? kI : kI | kW;
      }
    }
    const auto part = std::find_if(done.begin(), done.end(),
                                   [](unsigned state) { return state != (kF | kI | kW); });
    if (part == done.end()) return;
    const auto missing = static_cast<int>(part - done.begin());
    fail(core::cat("stage ", missing / micro_batches_, ", micro-batch ", missing % micro_batches_,
                   ": no whole forward and backward pass, expected them for ", micro_batches_,
                   " micro-batches"));
  }
  size_t index_of(int stage, int micro) const {
    return static_cast<size_t>(stage) * static_cast<size_t>(micro_batches_) +
           static_cast<size_t>(micro);
  }

  const std::string& name_;
  std::vector<OpList> lists_;
  std::vector<int> homes_;
  size_t line_ = 0, cells_ = 0;
  int stages_ = 0, micro_batches_ = 0;
};

int most_kept(const OpList& list) {
  int kept = 0, most = 0;
  for (const Op& op : list) {
    if (op.kind == Kind::kForward) most = std::max(most, ++kept);
    if (op.kind == Kind::kBackward || op.kind == Kind::kWeightGradient) --kept;
  }
  return most;
}

// The file's batch once or several times.
OpList repeated(const OpList& list, int each, const Placement& placement, Phase phase) {
  OpList ops;
  for (int first = 0; first < placement.micro_batches; first += each) {
    for (Op op : list) {
      op.micro += first;
      if (phase != Phase::kPredict || op.kind == Kind::kForward) ops.push_back(op);
    }
  }
  return ops;
}

// A device that waits for itself through others: the simulator finds it.
void check_order(const Request& request, const std::string& name) {
  try {
    const Placement placement = make_placement(request);
    simulate(placement, uniform_costs(placement, {}), {});
  } catch (const Error& error) {
    const std::string text = error.what();
    throw DataError(core::cat(name, ": ", text.substr(0, text.find(';'))));
  }
}

}  // namespace

Request parse_torch_schedule(std::string_view text, const std::string& name) {
  ScheduleReader reader(text, name);
  auto schedule = std::make_shared<Schedule>();
  const int each = reader.micro_batches();
  const auto lists = std::make_shared<const std::vector<OpList>>(reader.take_lists());
  schedule->name = name;
  schedule->about = "from a file";
  schedule->chunked = true;
  schedule->trains = false;
  schedule->home = [homes = reader.homes()](const Placement&, int stage) {
    return homes[static_cast<size_t>(stage)];
  };
  schedule->order = [lists, each](const Placement& placement, int device, Phase phase) {
    return repeated((*lists)[static_cast<size_t>(device)], each, placement, phase);
  };
  schedule->stash_bound = [lists](const Placement&, int device) {
    return most_kept((*lists)[static_cast<size_t>(device)]);
  };
  Request request;
  request.schedule = name;
  request.devices = static_cast<int>(lists->size());
  request.chunks = static_cast<int>(reader.homes().size() / lists->size());
  request.micro_batches = each;
  request.own = schedule;
  check_order(request, name);
  return request;
}

std::string torch_schedule(const Placement& placement) {
  if (placement.replicas > 1) {
    throw UsageError(core::cat("pipeline: ", placement.schedule, " has ", placement.replicas,
                               " replicas of the network; PyTorch's schedules have one"));
  }
  std::string text;
  for (int device = 0; device < placement.devices; ++device) {
    std::vector<std::string> cells;
    for (const Op& op : schedule_of(placement).order(placement, device, Phase::kBackprop)) {
      const auto* const letter =
          std::find_if(std::begin(kLetters), std::end(kLetters),
                       [&](const Letter& one) { return one.kind == op.kind; });
      cells.push_back(core::cat(op.stage, letter->letter, op.micro));
    }
    text += core::join(cells, ",") + "\n";
  }
  return text;
}

}  // namespace adagp::pipeline
