#include "adagp/sim/pipeline/copies.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "adagp/base/core/error.h"

namespace adagp::pipeline {

AllReduce parse_all_reduce(const std::string& name) {
  if (name == "ring") return AllReduce::kRing;
  if (name == "halving") return AllReduce::kHalving;
  throw UsageError("--all-reduce '" + name + "', expected ring or halving");
}

double all_reduce_time(AllReduce kind, int members, double bytes, double latency,
                       double bandwidth) {
  const double whole = bandwidth > 0 ? bytes / bandwidth : 0;
  if (kind == AllReduce::kRing) return 2.0 * (members - 1) * (latency + whole / members);
  const auto paired = static_cast<double>(std::bit_floor(static_cast<unsigned>(members)));
  const double rest = members > paired ? 2 * (latency + whole) : 0;
  return rest + 2 * (std::log2(paired) * latency + (paired - 1) / paired * whole);
}

double gradients_exchanged(const Copies& copies, double bytes, double start, double end,
                           double link_free) {
  const double buckets =
      copies.bucket_bytes > 0 ? std::max(1.0, std::ceil(bytes / copies.bucket_bytes)) : 1;
  const double each = all_reduce_time(copies.all_reduce, copies.count, bytes / buckets,
                                      copies.latency, copies.bandwidth);
  // Bucket k of n is complete at start + (end - start) k / n, and n - k + 1 buckets follow from
  // then on. The latest of these ends decides; they are linear in k, so the first or the last is.
  const double first = start + (end - start) / buckets;
  return std::max({link_free + buckets * each, first + buckets * each, end + each});
}

}  // namespace adagp::pipeline
