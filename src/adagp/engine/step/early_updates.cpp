#include "adagp/engine/step/early_updates.h"

#include <set>
#include <utility>

#include "adagp/engine/step/team.h"

namespace adagp::step {
namespace {

// Weights that are worth two launches beside the step.
constexpr int64_t kEnough = 2'000'000;

bool distinct(const std::vector<size_t>& slots) {
  return std::set<size_t>(slots.begin(), slots.end()).size() == slots.size();
}

}  // namespace

std::optional<predictor::GradientSink::Direct> EarlyUpdates::Part::direct() const {
  auto out = from_.direct();
  if (!out) return out;
  out->beside = launches_.beside;
  out->behind_pool = launches_.behind_pool;
  return out;
}

bool EarlyUpdates::possible(const Session& s, const predictor::GradientSink& sink) {
  // Copies must average their summaries first.
  return s.can_work_beside() && s.team->solo() && device::SideStream::possible(s.device) &&
         sink.direct() && s.summaries->each_used_once() && s.config.accumulate == 1 &&
         distinct(s.weight_slot);
}

EarlyUpdates::EarlyUpdates(Session& session, predictor::GradientSink& sink, Early early)
    : s_(session),
      sink_(sink),
      side_(session.device),
      rest_(sink, std::vector<char>(session.layers.size(), 1), {}) {
  if (early == Early::kNo || !possible(session, sink)) return;
  session.summaries->watch([this] { look(); });
}

EarlyUpdates::~EarlyUpdates() {
  if (s_.summaries) s_.summaries->watch({});
}

predictor::GradientSink& EarlyUpdates::rest() {
  queue_updates();
  return rest_;
}

void EarlyUpdates::queue_updates() {
  if (next_layers_.empty()) return;
  const std::vector<size_t> rows = std::exchange(rows_to_make_, {});
  Part part(sink_, std::exchange(next_layers_, {}), {.beside = true, .behind_pool = !rows.empty()});
  side_.run([&] {
    const at::NoGradGuard no_grad;
    s_.summaries->make_rows(rows);
    s_.predictor->predict(*s_.summaries, {}, part);
  });
}

// In a CUDA graph, the first kernel queued behind another one continues its branch, and the second
// one is a fork that begins later. So the next layer of the forward pass is queued before the
// updates: these wait for its report.
void EarlyUpdates::look() {
  queue_updates();
  std::vector<char> ready(s_.layers.size(), 0);
  int64_t weights = 0;
  for (size_t l = 0; l < ready.size(); ++l) {
    if (!rest_.wants(l) || !s_.summaries->has_reported(l)) continue;
    if (s_.layers[l]->info().kind != nn::LayerKind::kConv2d) continue;
    ready[l] = 1;
    weights += s_.layers[l]->weight.numel();
  }
  if (weights < kEnough) return;
  for (size_t l = 0; l < ready.size(); ++l) {
    if (ready[l] != 0) rest_.leave_out(l);
  }
  side_.set_start();
  rows_to_make_ = s_.summaries->take_rows(ready);
  next_layers_ = std::move(ready);
}

}  // namespace adagp::step
