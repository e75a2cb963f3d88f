#include "adagp/experiment/kind_timer.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <ATen/record_function.h>

namespace adagp::experiment {
namespace {

using report::Kind;
using Clock = std::chrono::steady_clock;

struct Frame {
  Kind kind;
  bool whole;  // scopes inside belong to it
  Clock::time_point start;
  double inside = 0;  // seconds of scopes within it that are counted apart
};

struct Counts {
  std::vector<Frame> frames;
  KindSeconds seconds{};
};
thread_local Counts counts;

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
};

std::optional<Frame> begun(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  if (function.scope() == at::RecordScope::USER_SCOPE) {
    if (!counts.frames.empty() && counts.frames.back().whole) return {};
    for (const Scope& scope : kScopes) {
      if (name == scope.name) return Frame{scope.kind, scope.whole, Clock::now()};
    }
    return {};
  }
  // What runs a backward pass has no kind of its own: the engine's "evaluate_function: ...".
  if (!counts.frames.empty() || !name.starts_with("aten::") || name == "aten::_backward") return {};
  return Frame{kind_of_operation(std::string(name)), false, Clock::now()};
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function) {
  const auto frame = begun(function);
  if (!frame) return nullptr;
  counts.frames.push_back(*frame);
  return std::make_unique<Counted>();
}

void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  if (context == nullptr || counts.frames.empty()) return;
  const Frame frame = counts.frames.back();
  counts.frames.pop_back();
  const double took = std::chrono::duration<double>(Clock::now() - frame.start).count();
  counts.seconds[static_cast<size_t>(frame.kind)] += took - frame.inside;
  if (!counts.frames.empty()) counts.frames.back().inside += took;
}

bool contains_part(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

}  // namespace

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

KindTimer::KindTimer() {
  counts = {};
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_begin, on_end)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}));
}

KindTimer::~KindTimer() {
  at::removeCallback(handle_);
}

KindSeconds KindTimer::seconds() const {
  return counts.seconds;
}

}  // namespace adagp::experiment
