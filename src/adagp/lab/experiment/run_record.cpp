#include "adagp/lab/experiment/run_record.h"

#include "adagp/base/core/text.h"

namespace adagp::experiment {

report::RunRecord record_of(const report::Summary& s) {
  report::RunRecord out{s.method,     s.seed,       s.score(), s.train_seconds,
                        s.bp_batches, s.gp_batches, {}};
  out.cosine = s.cosine;
  return out;
}

std::string about_training(const report::Summary& s) {
  return core::cat(s.device, ", ", s.precision, ", ", s.epochs,
                   s.epochs == 1 ? " epoch" : " epochs", " of batch ", s.batch);
}

}  // namespace adagp::experiment
