#include "adagp/report/summary.h"

#include "adagp/core/error.h"
#include "adagp/core/message.h"
#include "adagp/core/special_files.h"
#include "adagp/core/text.h"

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
                     {"stopped_seconds", stopped_seconds},
                     {"bp_batches", bp_batches},
                     {"gp_batches", gp_batches},
                     {"gp_share", gp_share()}};
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
  try {
    const auto json = nlohmann::json::parse(core::read_regular_file(file));
    Summary s;
    json.at("method").get_to(s.method);
    json.at("model").get_to(s.model);
    json.at("data").get_to(s.data);
    json.at("device").get_to(s.device);
    json.at("precision").get_to(s.precision);
    json.at("seed").get_to(s.seed);
    json.at("epochs").get_to(s.epochs);
    json.at("batch").get_to(s.batch);
    json.at("task").get_to(s.task);
    json.at("metric").get_to(s.metric);
    json.at("figures").get_to(s.figures);
    s.figures.at(s.metric);  // score() relies on it
    json.at("loss").get_to(s.loss);
    json.at("best_" + s.metric).get_to(s.best);
    json.at("train_seconds").get_to(s.train_seconds);
    json.at("eval_seconds").get_to(s.eval_seconds);
    s.trace_seconds = json.value("trace_seconds", 0.0);
    if (json.contains("stopped_seconds")) json.at("stopped_seconds").get_to(s.stopped_seconds);
    s.conditions = report::Conditions::read(json);
    json.at("bp_batches").get_to(s.bp_batches);
    json.at("gp_batches").get_to(s.gp_batches);
    if (json.contains("cost_epochs") && !json.at("cost_epochs").is_null()) {
      s.cost_epochs = json.at("cost_epochs").get<double>();
    }
    if (!json.at("cosine").is_null()) s.cosine = json.at("cosine").get<double>();
    if (!json.at("q").is_null()) s.q = json.at("q").get<double>();
    if (json.contains("bias") && !json.at("bias").is_null()) s.bias = json.at("bias").get<double>();
    return s;
  } catch (const std::out_of_range&) {
    throw DataError(file.string() + ": not a run's summary: its metric is not among its figures");
  } catch (const nlohmann::json::exception& error) {
    throw DataError(file.string() + ": not a run's summary: " + core::plain_message(error));
  }
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
