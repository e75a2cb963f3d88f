#include "adagp/sim/accel/sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>

#include "adagp/base/core/error.h"
#include "adagp/base/core/threads.h"
#include "adagp/sim/accel/checked_math.h"

namespace adagp::accel {
namespace {

constexpr auto kProgressInterval = std::chrono::milliseconds(100);

// Indices are handed out one block at a time, so that threads seldom meet.
class Jobs {
 public:
  Jobs(size_t count, const std::function<void(size_t)>& job) : count_(count), job_(job) {}

  void work() {
    constexpr size_t kBlock = 16;
    for (;;) {
      const size_t begin = next_.fetch_add(kBlock);
      if (begin >= count_) break;
      const size_t end = std::min(begin + kBlock, count_);
      for (size_t i = begin; i < end && !failed_; ++i) run(i);
      done_ += end - begin;
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    ended_.notify_all();
  }

  void stop() { failed_ = true; }

  // Until all workers have finished.
  void wait(size_t workers, const std::function<void(size_t)>& progress) {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kProgressInterval, [&] { return finished_ == workers; })) {
      lock.unlock();
      try {
        if (progress) progress(done_);
      } catch (...) {  // an interruption: the workers must not finish the rest first
        stop();
        throw;
      }
      lock.lock();
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void run(size_t i) {
    try {
      job_(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_ = true;
    }
  }

  size_t count_;
  const std::function<void(size_t)>& job_;
  std::atomic<size_t> next_ = 0, done_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  size_t finished_ = 0;
  std::exception_ptr error_;
};

PointResult run_point(const Point& point) {
  PointResult out;
  if (point.designs.empty()) {
    out.inference = simulate_inference(*point.plan, point.accelerator, *point.dataflow).total;
    return out;
  }
  const TrainingResult result =
      simulate_training(*point.plan, point.accelerator, *point.dataflow, point.designs, point.run);
  for (const DesignResult& d : result.designs) out.designs.push_back(summary_of(d));
  return out;
}

PhaseSummary phase_of(const PhaseTotal& phase) {
  return {phase.batches, phase.cycles.compute(), phase.cycles.vector, phase.cycles.stall,
          phase.energy.total()};
}

}  // namespace

DesignSummary summary_of(const DesignResult& d) {
  return {d.design,
          d.cycles,
          d.energy,
          d.seconds,
          d.speedup,
          d.energy_ratio,
          d.memory_energy_ratio,
          phase_of(d.warm_up),
          phase_of(d.phase_bp),
          phase_of(d.phase_gp),
          d.second};
}

void for_each(size_t count, unsigned threads, const std::function<void(size_t)>& job,
              const std::function<void(size_t done)>& progress) {
  core::check_thread_count("--threads", threads);
  if (threads == 0) threads = static_cast<unsigned>(core::hardware_threads());
  const size_t workers = std::min<size_t>(threads, std::max<size_t>(1, count));
  Jobs jobs(count, job);
  {
    const auto pool = core::start_threads(
        static_cast<int64_t>(workers), [&jobs] { jobs.work(); }, [&jobs] { jobs.stop(); });
    jobs.wait(workers, progress);
  }
  if (progress) progress(count);
}

std::vector<PointResult> sweep(const std::vector<Point>& points, unsigned threads,
                               const std::function<void(size_t done)>& progress) {
  std::vector<PointResult> out(points.size());
  for_each(
      points.size(), threads, [&](size_t i) { out[i] = run_point(points[i]); }, progress);
  return out;
}

std::vector<size_t> pareto(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size()) throw Error("pareto: as many x as y are needed");
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return x[a] != x[b] ? x[a] < x[b] : y[a] < y[b]; });
  // From left to right a point stays when it is lower than all before it; equal points stay
  // together.
  std::vector<size_t> front;
  for (const size_t i : order) {
    const bool same = !front.empty() && x[front.back()] == x[i] && y[front.back()] == y[i];
    if (front.empty() || same || y[i] < y[front.back()]) front.push_back(i);
  }
  return front;
}

int64_t pes_with(const Array& array, double extra_percent) {
  constexpr double kMost = 1000;
  if (!(extra_percent >= 0 && extra_percent <= kMost)) {
    throw UsageError(core::cat("extra PEs ", extra_percent, " %: expected 0 to ", kMost));
  }
  // 180 * 1.1 is a hair under 198 in binary.
  const double pes = static_cast<double>(array.pes()) * (1 + extra_percent / 100);
  return static_cast<int64_t>(std::floor(pes + 1e-9));
}

BestArray best_array(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow,
                     int64_t pes) {
  Accelerator tried = accelerator;
  std::vector<LayerCost> layers;
  BestArray best;
  for (int64_t rows = 1; rows <= pes; ++rows) {
    const int64_t columns = pes / rows;
    rows = pes / columns;  // as many as these columns leave room for
    tried.array.rows = rows;
    tried.array.columns = columns;
    evaluate(plan, tried, dataflow, Scope::kBackprop, layers);
    int64_t cycles = 0;
    for (const LayerCost& layer : layers) {
      cycles = add(cycles, layer.forward.total(), layer.backward().total());
    }
    if (best.cycles == 0 || cycles < best.cycles) best = {tried.array, cycles};
  }
  return best;
}

}  // namespace adagp::accel
