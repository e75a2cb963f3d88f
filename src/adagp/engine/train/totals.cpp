#include "adagp/engine/train/totals.h"

#include "adagp/base/core/text.h"

namespace adagp::train {

std::string BatchPosition::text() const {
  return core::cat("epoch ", epoch + 1, " batch ", batch + 1);
}

nlohmann::json RunTotals::to_json() const {
  return {{"epoch", next.epoch},
          {"position", next.batch},
          {"macs", macs},
          {"examples", examples},
          {"data_seconds", parts.data},
          {"bp_seconds", parts.exact},
          {"gp_seconds", parts.cheap},
          {"bp_batches", bp_batches},
          {"gp_batches", gp_batches},
          {"train_seconds", train_seconds},
          {"eval_seconds", eval_seconds},
          {"trace_seconds", trace_seconds},
          {"batches", plan::to_json(batches)},
          {"test_loss", test_loss},
          {"best_score", best_score},
          {"figures", figures}};
}

void RunTotals::read(const nlohmann::json& json) {
  json.at("epoch").get_to(next.epoch);
  json.at("position").get_to(next.batch);
  // JSON has no NaN; checkpoints of earlier versions lack some.
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? found->get<double>() : std::nan("");
  };
  macs = json.at("macs").is_null() ? std::nan("") : json.at("macs").get<double>();
  examples = number("examples");
  parts = {number("data_seconds"), number("bp_seconds"), number("gp_seconds")};
  json.at("bp_batches").get_to(bp_batches);
  json.at("gp_batches").get_to(gp_batches);
  json.at("train_seconds").get_to(train_seconds);
  json.at("eval_seconds").get_to(eval_seconds);
  trace_seconds = json.value("trace_seconds", 0.0);
  batches = plan::batch_counts(json.value("batches", nlohmann::json::array()));
  json.at("test_loss").get_to(test_loss);
  json.at("best_score").get_to(best_score);
  json.at("figures").get_to(figures);
}

}  // namespace adagp::train
