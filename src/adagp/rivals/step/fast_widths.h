#pragma once
// precision = fast: how many bits the mantissas of each layer's operands have, and when.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adagp/engine/step/session.h"
#include "adagp/gpu/device/tf32.h"
#include "adagp/rivals/nn/fast.h"
#include "adagp/rivals/options/options.h"

namespace adagp::step {

// FAST's rule for a layer `l` of L at share `progress` of the run: an operand whose r is at least
// this has four bits, others two.
double fast_limit(double alpha, double beta, double progress, int64_t layer, int64_t layers);

class FastWidths : public SessionPart {
 public:
  // Makes the layers compute in block floating point. Throws UsageError where that cannot be.
  FastWidths(const std::vector<nn::WeightLayer*>& layers, const config::RunConfig& config,
             at::Device device);

  // Whether the products are in bf16, which holds every width that may come.
  bool bf16() const { return shared_->bf16; }

  // Before each batch: the widths of this moment, and new random numbers. The rule `adaptive` runs
  // the batch once more every `fast.every` batches to measure r.
  void before_batch(Session& session, const data::Batch& batch, int64_t step,
                    double progress) override;

  at::Tensor widths() const { return widths_.cpu(); }  // int32 [layers, 3]: w, a, g
  const at::Tensor& losses() const { return r_; }      // float [layers, 3] on the CPU: r

  // For weights files, so that an evaluation rounds as the run did: "2,2,4,...", three a layer.
  static constexpr const char* kMetadataKey = "adagp.fast_widths";
  std::string widths_text() const;
  void write(Metadata& metadata) const override { metadata[kMetadataKey] = widths_text(); }
  void read(const Metadata& metadata, const std::string& file) override;
  void set_widths(const std::string& text, const std::string& file);  // throws DataError

  // What a forward pass that begins now rounds by, to run it again later: its widths, and the
  // number from which its products draw in the backward pass.
  struct Moment {
    int64_t products = 0;
    at::Tensor widths;
  };
  Moment moment() const;
  void set_moment(const Moment& moment);

  std::string name() const override { return "fast"; }
  std::map<std::string, at::Tensor> state() const override;
  void load_state(const std::map<std::string, at::Tensor>& state) override;  // throws DataError
  void trace(std::map<std::string, at::Tensor>& tensors, const Session& session) const override;
  std::string why_not_longer() const override;

 private:
  void begin_step(int64_t step);
  void decide(Session& session, const data::Batch& batch, double progress);
  void set_all(int32_t width);

  std::vector<nn::WeightLayer*> layers_;
  rivals::FastOptions options_;
  int64_t every_ = 0;  // batches; 0 = never
  int64_t seed_;
  std::shared_ptr<nn::FastShared> shared_;
  at::Tensor widths_, r_;
  std::optional<device::WithoutTf32> without_tf32_;
};

}  // namespace adagp::step
