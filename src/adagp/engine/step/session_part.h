#pragma once
// What a session has for some configurations only, such as another number format: an object that
// the steps, the trainer and the checkpoint call at the places below, and that none of them knows
// by name. The library of experiments adds makers (rivals/rivals.h).

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "adagp/engine/data/stream/batch.h"
#include "adagp/engine/nn/kept_values.h"

namespace adagp::step {

struct Session;

class SessionPart {
 public:
  virtual ~SessionPart() = default;

  // Before each batch of the run; `share` of it is over.
  virtual void before_batch(Session& session, const data::Batch& batch, int64_t step,
                            double share) = 0;
  // Null: what is kept for the backward pass stays as it is.
  virtual nn::KeptValues* kept_values() { return nullptr; }

  // For the checkpoint, under this name.
  virtual std::string name() const = 0;
  virtual std::map<std::string, at::Tensor> state() const { return {}; }
  virtual void load_state(const std::map<std::string, at::Tensor>& state) { (void)state; }

  // For weights files, so that an evaluation computes as the run did.
  using Metadata = std::map<std::string, std::string>;
  virtual void write(Metadata& metadata) const { (void)metadata; }
  virtual void read(const Metadata& metadata, const std::string& file) {
    (void)metadata;
    (void)file;
  }
  // Adds to the tensors of a trace.
  virtual void trace(std::map<std::string, at::Tensor>& tensors, const Session& session) const {
    (void)tensors;
    (void)session;
  }
  // Why a run that is done cannot go on for more epochs; empty: it can.
  virtual std::string why_not_longer() const { return ""; }
};

// Makes the part of a session whose configuration asks for one, or returns null. It is called when
// the layers are known and the optimizer is not made yet. Throws UsageError for what cannot be.
using PartMaker = std::unique_ptr<SessionPart> (*)(Session&);
// Before the first session.
void add_part_maker(PartMaker maker);
const std::vector<PartMaker>& part_makers();

}  // namespace adagp::step
