#include "adagp/lab/experiment/kind_timer.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <ATen/record_function.h>

#include "adagp/base/core/error.h"
#include "adagp/gpu/device/event_timer.h"

namespace adagp::experiment {
namespace {

using report::Kind;

// Marks without work in between, from which the cost of a mark is taken.
constexpr int kEmptyMarks = 33;

// Marks what was counted, for the call at its end.
struct Counted : at::ObserverContext {};

struct Scope {
  std::string_view name;
  Kind kind;
  bool whole;
};
constexpr Scope kScopes[] = {
    {"adagp::update", Kind::kOptimizer, false},
    {"adagp::predict", Kind::kPredictor, false},  // the update inside is the network's
    {"adagp::learn", Kind::kPredictor, true},     // the update inside is the predictor's
    {"adagp::summarise", Kind::kSummaries, false},
    {"adagp::norm", Kind::kNorm, true},
    {"adagp::elementwise", Kind::kElementwise, true},
    {"adagp::convolution", Kind::kConvolution, true},
};

bool contains_part(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

}  // namespace

// A backward pass on a GPU calls us from LibTorch's own threads, while the one that began it waits.
struct KindTimer::Marks {
  struct Frame {
    Kind kind;
    bool whole;  // scopes inside belong to it
  };

  explicit Marks(const at::Device& where)
      : on_gpu(where.is_cuda()), times(where, device::EventTimer::Use::kRecordable) {}

  const bool on_gpu;
  std::mutex mutex;
  device::EventTimer times;
  std::vector<Kind> kinds;  // of the work behind each mark
  std::vector<Frame> frames;
  std::optional<at::CallbackHandle> handle;

  void mark() {
    times.add();
    kinds.push_back(frames.empty() ? Kind::kOther : frames.back().kind);
  }
  std::optional<Frame> begun(const at::RecordFunction& function) const {
    const std::string_view name = function.name();
    if (function.scope() == at::RecordScope::USER_SCOPE) {
      if (!frames.empty() && frames.back().whole) return {};
      for (const Scope& scope : kScopes) {
        if (name == scope.name) return Frame{scope.kind, scope.whole};
      }
      return {};
    }
    // What runs a backward pass has no kind of its own: the engine's "evaluate_function: ...".
    if (!frames.empty() || !name.starts_with("aten::") || name == "aten::_backward") return {};
    return Frame{kind_of_operation(std::string(name)), false};
  }

  // Of the process and not of a thread: LibTorch's threads run backward passes.
  static std::atomic<Marks*> active;

  static std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function) {
    Marks* marks = active;
    if (marks == nullptr) return nullptr;
    const std::lock_guard<std::mutex> lock(marks->mutex);
    const auto frame = marks->begun(function);
    if (!frame) return nullptr;
    marks->frames.push_back(*frame);
    marks->mark();
    return std::make_unique<Counted>();
  }
  static void on_end(const at::RecordFunction&, at::ObserverContext* context) {
    Marks* marks = active;
    if (context == nullptr || marks == nullptr) return;
    const std::lock_guard<std::mutex> lock(marks->mutex);
    if (marks->frames.empty()) return;
    marks->frames.pop_back();
    marks->mark();
  }
};

std::atomic<KindTimer::Marks*> KindTimer::Marks::active = nullptr;

report::Kind kind_of_operation(const std::string& name) {
  const auto any = [&](std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      if (contains_part(name, part)) return true;
    }
    return false;
  };
  if (any({"conv"})) return Kind::kConvolution;
  if (any({"batch_norm", "layer_norm"})) return Kind::kNorm;
  if (any({"linear", "addmm", "::mm", "bmm", "matmul", "scaled_dot_product"})) {
    return Kind::kLinear;
  }
  if (any({"relu", "threshold", "hardtanh", "gelu", "pool", "::cat", "softmax", "embedding",
           "::add", "::mul", "::sub", "::div", "::where", "upsample"})) {
    return Kind::kElementwise;
  }
  return Kind::kOther;
}

KindTimer::KindTimer(const at::Device& device) : marks_(std::make_unique<Marks>(device)) {}

KindTimer::~KindTimer() {
  if (marks_->handle) at::removeCallback(*marks_->handle);
  if (Marks::active == marks_.get()) Marks::active = nullptr;
}

void KindTimer::start() {
  if (Marks::active != nullptr) throw Error("KindTimer: another one is counting");
  Marks::active = marks_.get();
  marks_->handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(Marks::on_begin, Marks::on_end)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}));
  marks_->mark();
}

void KindTimer::stop() {
  at::removeCallback(*marks_->handle);
  marks_->handle.reset();
  marks_->frames.clear();
  marks_->mark();
  Marks::active = nullptr;
  if (!marks_->on_gpu) return;
  for (int i = 0; i < kEmptyMarks; ++i) marks_->times.add();
}

KindSeconds KindTimer::seconds() {
  std::vector<double> all = marks_->times.seconds();
  const size_t counted = marks_->kinds.size() - 1;  // the last mark ends
  double cost = 0;
  if (marks_->on_gpu) {
    std::vector<double> empty(all.begin() + static_cast<std::ptrdiff_t>(counted), all.end());
    std::nth_element(empty.begin(), empty.begin() + kEmptyMarks / 2, empty.end());
    cost = empty[kEmptyMarks / 2];
  }
  KindSeconds out{};
  for (size_t i = 0; i < counted; ++i) {
    out[static_cast<size_t>(marks_->kinds[i])] += std::max(0.0, all[i] - cost);
  }
  return out;
}

}  // namespace adagp::experiment
