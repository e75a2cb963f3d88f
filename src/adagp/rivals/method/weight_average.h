#pragma once
// The mean of a network's weights over some batches, to be looked at in their place: what it loses
// on is a much steadier sign of progress than the weights of any one moment, which a large rate
// throws about.

#include <map>
#include <string>
#include <vector>

#include "adagp/engine/step/restoration.h"

namespace adagp::method {

class WeightAverage {
 public:
  void add(const step::Session& session);  // the weights as they are now
  void clear() { count_ = 0; }
  int64_t count() const { return count_; }

  // Until end() the network has the mean for its weights; after an exception its own again, too.
  class Scope {
   public:
    Scope(const WeightAverage& average, step::Session& session);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    void end() { restoration_.now(); }

   private:
    std::vector<at::Tensor> kept_;
    step::Restoration restoration_;  // reads kept_
  };

  // Nothing while it is empty.
  std::map<std::string, at::Tensor> state(const step::Session& session) const;
  void load_state(const step::Session& session, const std::map<std::string, at::Tensor>& state);

 private:
  std::vector<at::Tensor> means_;  // by parameter of the optimizer
  int64_t count_ = 0;
};

}  // namespace adagp::method
