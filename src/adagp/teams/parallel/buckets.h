#pragma once
// The mean of several processes' gradients, sent while the backward pass still runs.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adagp/engine/optim/optimizer.h"
#include "adagp/teams/comm/group.h"

namespace adagp::parallel {

// The gradient that a parameter's step will take, zeros where there is none yet.
at::Tensor gradient_of(const optim::Param& param);

class Buckets {
 public:
  // Parameters are taken from the last to the first, in the order in which a backward pass is done
  // with them.
  Buckets(comm::Group& group, const std::vector<optim::Param>& params, int64_t bytes = 4 << 20);
  ~Buckets();
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  // For messages of errors, when something is sent.
  using Doing = std::function<std::string()>;
  // A batch in which every parameter gets a gradient `uses` times: a bucket leaves as soon as all
  // of its parameters have. 0: all leave in finish(), as they must in a recording.
  void begin(int uses, Doing doing);
  // Sends what is left, waits, and makes the means the gradients of the parameters. They lie in
  // the buckets, always at the same place, until the next finish().
  void finish();

  int64_t count() const;

 private:
  struct Bucket;
  struct State;  // shared with the hooks, which may outlive this object
  std::shared_ptr<State> state_;
};

}  // namespace adagp::parallel
