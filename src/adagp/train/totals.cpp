#include "adagp/train/totals.h"

#include <cmath>

#include "adagp/core/text.h"

namespace adagp::train {

std::string BatchPosition::text() const {
  return core::cat("epoch ", epoch + 1, " batch ", batch + 1);
}

nlohmann::json RunTotals::to_json() const {
  return {{"epoch", next.epoch},
          {"position", next.batch},
          {"macs", macs},
          {"bp_batches", bp_batches},
          {"gp_batches", gp_batches},
          {"train_seconds", train_seconds},
          {"eval_seconds", eval_seconds},
          {"stopped_seconds", stopped_seconds},
          {"test_loss", test_loss},
          {"best_score", best_score},
          {"figures", figures}};
}

void RunTotals::read(const nlohmann::json& json) {
  json.at("epoch").get_to(next.epoch);
  json.at("position").get_to(next.batch);
  macs = json.at("macs").is_null() ? std::nan("") : json.at("macs").get<double>();
  json.at("bp_batches").get_to(bp_batches);
  json.at("gp_batches").get_to(gp_batches);
  json.at("train_seconds").get_to(train_seconds);
  json.at("eval_seconds").get_to(eval_seconds);
  stopped_seconds = json.value("stopped_seconds", 0.0);
  json.at("test_loss").get_to(test_loss);
  json.at("best_score").get_to(best_score);
  json.at("figures").get_to(figures);
}

}  // namespace adagp::train
