// edram.error: what is kept for the backward pass has bit errors (nn/kept_errors.h).

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/team.h"
#include "adagp/rivals/nn/kept_errors.h"
#include "adagp/rivals/options/options.h"
#include "adagp/rivals/step/parts.h"

namespace adagp::step {
namespace {

class Edram : public SessionPart {
 public:
  Edram(double error, const Session& s) : errors_(error, s.config.seed, s.device) {
    const auto rule = nn::rule_of_kept_values();
    for (auto* layer : nn::collect(*s.net)) layer->rule = rule;
  }

  void before_batch(Session&, const data::Batch&, int64_t step, double) override {
    errors_.begin_step(step);
  }
  nn::KeptValues* kept_values() override { return &errors_; }
  std::string name() const override { return "edram"; }

 private:
  nn::KeptErrors errors_;
};

}  // namespace

std::unique_ptr<SessionPart> make_edram(Session& s) {
  const double error = s.config.parts.get<rivals::EdramOptions>().error;
  if (error <= 0) return nullptr;
  if (s.config.precision == "fast" || !s.team->solo()) {
    throw UsageError(core::cat("edram.error = ", error, ": not modelled with ",
                               s.team->solo() ? "precision = fast" : "--parallel",
                               "; use 0, or leave the other out"));
  }
  return std::make_unique<Edram>(error, s);
}

}  // namespace adagp::step
