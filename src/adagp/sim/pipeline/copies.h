#pragma once
// Data parallel: copies of the whole pipeline, each with examples of its own. A BP batch ends with
// the mean of all copies' gradients, a GP batch with the mean of their summaries.

#include <string>

namespace adagp::pipeline {

enum class AllReduce {
  kRing,     // 2 (P - 1) messages of bytes / P, one after the other: least traffic, any P
  kHalving,  // recursive halving and doubling: 2 log2(P) messages, as many bytes. Members beyond a
             // power of two hand theirs to a partner first and get the sum back last
};
AllReduce parse_all_reduce(const std::string& name);  // "ring", "halving"; else UsageError

struct Copies {
  int count = 1;
  double latency = 0;    // of a message between two copies
  double bandwidth = 0;  // bytes per time, of each device to its twin in the next copy; 0: no limit
  // Gradients leave in pieces of this size while the rest of the backward pass runs; 0: a stage's
  // gradients leave as a whole after it.
  double bucket_bytes = 0;
  AllReduce all_reduce = AllReduce::kRing;
};

// All members start at the same time. 0 for one member.
double all_reduce_time(AllReduce kind, int members, double bytes, double latency, double bandwidth);

// When a device's link between copies is free again after the gradients of a stage. They come into
// being evenly from `start` to `end` (the last backward pass of the batch), and a bucket leaves as
// soon as it is complete and the link is free. All copies do the same at the same time.
double gradients_exchanged(const Copies& copies, double bytes, double start, double end,
                           double link_free);

}  // namespace adagp::pipeline
