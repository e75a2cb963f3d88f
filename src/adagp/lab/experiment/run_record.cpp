#include "adagp/lab/experiment/run_record.h"

#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/environment_file.h"

namespace adagp::experiment {

std::string hardware_of(const core::fs::path& folder) {
  const nlohmann::ordered_json environment = run::read_environment(folder);
  const char* key = environment.contains("gpu") ? "gpu" : "cpu";
  const auto found = environment.find(key);
  return found != environment.end() && found->is_string()
             ? core::printable_line(found->get<std::string>())
             : "";
}

report::RunRecord record_of(const report::Summary& s, const core::fs::path& folder) {
  report::RunRecord out{s.method,     s.seed,       s.score(), s.train_seconds,
                        s.bp_batches, s.gp_batches, {}};
  out.cosine = s.cosine;
  out.hardware = hardware_of(folder);
  return out;
}

std::string about_training(const report::Summary& s) {
  return core::cat(s.device, ", ", s.precision, ", ", s.epochs,
                   s.epochs == 1 ? " epoch" : " epochs", " of batch ", s.batch);
}

}  // namespace adagp::experiment
