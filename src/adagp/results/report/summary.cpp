#include "adagp/results/report/summary.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"

namespace adagp::report {

double Summary::gp_share() const {
  const auto all = static_cast<double>(bp_batches + gp_batches);
  return all > 0 ? static_cast<double>(gp_batches) / all : 0;
}

nlohmann::json Summary::to_json() const {
  nlohmann::json out{{"method", method},
                     {"model", model},
                     {"data", data},
                     {"device", device},
                     {"precision", precision},
                     {"seed", seed},
                     {"epochs", epochs},
                     {"batch", batch},
                     {"task", task},
                     {"metric", metric},
                     {"loss", loss},
                     {"best_" + metric, best},
                     {"train_seconds", train_seconds},
                     {"eval_seconds", eval_seconds},
                     {"bp_batches", bp_batches},
                     {"gp_batches", gp_batches},
                     {"gp_share", gp_share()}};
  if (!batches.empty()) out["batches"] = plan::to_json(batches);
  if (trace_seconds > 0) out["trace_seconds"] = trace_seconds;
  for (const auto& [name, value] : figures) out[name] = value;
  out["figures"] = figures;
  out.update(conditions.to_json());
  out["cost_epochs"] = cost_epochs ? nlohmann::json(*cost_epochs) : nlohmann::json(nullptr);
  out["cosine"] = cosine ? nlohmann::json(*cosine) : nlohmann::json(nullptr);
  out["q"] = q ? nlohmann::json(*q) : nlohmann::json(nullptr);
  out["bias"] = bias ? nlohmann::json(*bias) : nlohmann::json(nullptr);
  return out;
}

Summary Summary::read(const core::fs::path& file) {
  const auto json = core::read_json(file);
  try {
    Summary s;
    const auto read = [&](const char* key, auto& to) { core::read_field(json, key, to); };
    // Null: the run has no such value.
    const auto read_optional = [&](const char* key, std::optional<double>& to) {
      if (!json.at(key).is_null()) to = core::json_field<double>(json, key);
    };
    read("method", s.method);
    read("model", s.model);
    read("data", s.data);
    read("device", s.device);
    read("precision", s.precision);
    read("seed", s.seed);
    read("epochs", s.epochs);
    read("batch", s.batch);
    read("task", s.task);
    read("metric", s.metric);
    read("figures", s.figures);
    if (!s.figures.contains(s.metric)) {  // score() relies on it
      throw DataError("its metric is not among its figures");
    }
    read("loss", s.loss);
    read(("best_" + s.metric).c_str(), s.best);
    read("train_seconds", s.train_seconds);
    read("eval_seconds", s.eval_seconds);
    if (json.contains("trace_seconds")) read("trace_seconds", s.trace_seconds);
    s.conditions = report::Conditions::read(json);
    read("bp_batches", s.bp_batches);
    read("gp_batches", s.gp_batches);
    if (json.contains("batches")) s.batches = plan::batch_counts(json.at("batches"));
    if (json.contains("cost_epochs")) read_optional("cost_epochs", s.cost_epochs);
    read_optional("cosine", s.cosine);
    read_optional("q", s.q);
    if (json.contains("bias")) read_optional("bias", s.bias);
    return s;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(file.string() + ": not a run's summary: " + core::plain_message(error));
  } catch (const DataError& error) {
    throw DataError(file.string() + ": not a run's summary: " + error.what());
  }
}

std::string operations_name(int64_t image_side) {
  return "operations/" + (image_side == 0 ? "full" : std::to_string(image_side)) + ".csv";
}

std::string one_line(const Summary& s) {
  std::string out = core::cat(s.method, " ", s.model, " on ", s.data, ", seed ", s.seed, ": ");
  out +=
      core::cat(s.metric, " ", core::fixed(s.score(), 2), " (best ", core::fixed(s.best, 2), ")");
  for (const auto& [name, value] : s.figures) {
    if (name != s.metric) out += core::cat(", ", name, " ", core::fixed(value, 2));
  }
  out += core::cat(", ", core::human_seconds(s.train_seconds), " of training, ", s.bp_batches,
                   " BP and ", s.gp_batches, " GP batches");
  if (s.cost_epochs) out += ", cost of " + core::fixed(*s.cost_epochs, 2) + " BP epochs";
  if (s.cosine) out += ", cosine " + core::fixed(*s.cosine, 3);
  if (s.q) out += ", q " + core::fixed(*s.q, 3);
  return out;
}

}  // namespace adagp::report
