#include "adagp/sim/arrays/lifetimes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace adagp::arrays {
namespace {

constexpr double kPicoJoule = 1e-12;

struct Peak {
  double words = 0;
  int64_t time = 0;
};

// The fullest moment. A tensor is alive in [written, last_read).
Peak fullest(const std::vector<StoredTensor>& tensors, const std::vector<bool>& spilled) {
  std::map<int64_t, double> changes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (spilled[i] || tensors[i].lifetime() == 0) continue;
    changes[tensors[i].written] += static_cast<double>(tensors[i].words);
    changes[tensors[i].last_read] -= static_cast<double>(tensors[i].words);
  }
  Peak out;
  double alive = 0;
  for (const auto& [time, change] : changes) {
    alive += change;
    if (alive > out.words) out = {alive, time};
  }
  return out;
}

std::vector<bool> spill(const std::vector<StoredTensor>& tensors, double capacity_words) {
  std::vector<bool> spilled(tensors.size(), false);
  while (true) {
    const Peak peak = fullest(tensors, spilled);
    if (peak.words <= capacity_words) return spilled;
    size_t longest = tensors.size();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const StoredTensor& one = tensors[i];
      if (spilled[i] || one.written > peak.time || one.last_read <= peak.time) continue;
      if (longest == tensors.size() || one.lifetime() > tensors[longest].lifetime()) longest = i;
    }
    spilled[longest] = true;
  }
}

}  // namespace

int64_t refreshes(double lifetime_us, double retention_us) {
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(lifetime_us / retention_us)) - 1);
}

EdramCost edram_cost(const StoredTensors& stored, const accel::Accelerator& a, double value_bytes) {
  const std::vector<StoredTensor>& tensors = stored.tensors;
  const double capacity = a.edram.bytes == 0 ? std::numeric_limits<double>::infinity()
                                             : static_cast<double>(a.edram.bytes) / value_bytes;
  const std::vector<bool> spilled = spill(tensors, capacity);
  const double share = value_bytes / static_cast<double>(a.word_bytes);  // of a word's energy
  EdramCost out;
  out.peak_bytes = fullest(tensors, std::vector<bool>(tensors.size(), false)).words * value_bytes;
  double all_words = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const StoredTensor& one = tensors[i];
    const auto words = static_cast<double>(one.words);
    const double us = static_cast<double>(one.lifetime()) / a.clock_mhz;
    const double accesses = 1.0 + static_cast<double>(one.reads);
    if (spilled[i]) {
      out.spilled_bytes += words * value_bytes;
      out.dram_j += words * value_bytes * 8 * accesses * a.energy.dram_pj_per_bit * kPicoJoule;
      continue;
    }
    out.longest_us = std::max(out.longest_us, us);
    out.mean_us += us * words;
    all_words += words;
    const int64_t times = refreshes(us, a.edram.retention_us);
    if (times == 0) out.fresh_share += words;
    out.most_refreshes = std::max(out.most_refreshes, times);
    out.refreshed_words += words * static_cast<double>(times);
    out.access_j += words * share * kPicoJoule *
                    (a.edram.write_pj + static_cast<double>(one.reads) * a.edram.read_pj);
  }
  if (all_words > 0) {
    out.mean_us /= all_words;
    out.fresh_share /= all_words;
  }
  out.refresh_j = out.refreshed_words * share * a.edram.refresh_pj * kPicoJoule;
  out.leakage_j =
      static_cast<double>(stored.cycles) / (a.clock_mhz * 1e6) * a.edram.leakage_mw * 1e-3;
  return out;
}

}  // namespace adagp::arrays
