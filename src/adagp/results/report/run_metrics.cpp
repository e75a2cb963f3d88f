// metrics.jsonl, as far as reports need it.

#include <cmath>
#include <limits>

#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/run_files.h"

namespace adagp::report {
namespace {

using nlohmann::json;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

double number_at(const json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number() ? found->get<double>() : kMissing;
}

int64_t count_at(const json& record, const char* key) {
  const double value = number_at(record, key);
  return std::isfinite(value) && std::abs(value) < 9e15 ? static_cast<int64_t>(value) : 0;
}

std::string text_at(const json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

EpochRecord epoch_of(const json& record) {
  EpochRecord out;
  out.epoch = count_at(record, "epoch");
  out.step = count_at(record, "step");
  out.seconds = number_at(record, "train_seconds");
  out.cost = number_at(record, "cost_epochs");
  out.examples = number_at(record, "examples");
  out.data_seconds = number_at(record, "data_seconds");
  out.bp_seconds = number_at(record, "bp_seconds");
  out.gp_seconds = number_at(record, "gp_seconds");
  for (const auto& [key, value] : record.items()) {
    const bool axis = key == "epoch" || key == "step" || key.ends_with("_seconds") ||
                      key == "cost_epochs" || key == "examples";
    if (value.is_number() && !axis) out.figures[key] = value.get<double>();
  }
  return out;
}

// Nothing where a layer is no list of eight numbers.
std::optional<ProbeRecord> probe_of(const json& record) {
  const auto found = record.find("probes");
  if (found == record.end() || !found->is_array() || found->empty()) return std::nullopt;
  ProbeRecord out;
  out.step = count_at(record, "step");
  out.predictor_loss = number_at(record, "predictor_loss");
  for (const json& layer : *found) {
    auto& numbers = out.layers.emplace_back();
    numbers.fill(kMissing);
    if (layer.is_null()) continue;
    if (!layer.is_array() || layer.size() != numbers.size()) return std::nullopt;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (layer[i].is_number()) numbers[i] = layer[i].get<double>();
    }
  }
  return out;
}

DecisionRecord decision_of(const json& record) {
  return {count_at(record, "step"),  count_at(record, "tried"),    count_at(record, "used_k"),
          count_at(record, "pairs"), text_at(record, "what"),      text_at(record, "candidate"),
          number_at(record, "rate"), number_at(record, "bp_rate"), number_at(record, "low")};
}

struct Line {
  std::string_view text;
  size_t number;
};

// Null where the line is no record, which is noted once with the first such line.
json parse_line(const Line& line, const std::string& name, size_t& bad, Metrics& out) {
  auto record = core::try_parse_json(line.text);
  if (record && record->is_object()) return std::move(*record);
  if (bad++ == 0) {
    out.notes.push_back(core::cat(name, ":", line.number, ": not a record, left out"));
  }
  return {};
}

}  // namespace

Metrics parse_metrics(std::string_view text, const std::string& name, size_t most_probes) {
  Metrics out;
  out.last_loss = kMissing;
  std::vector<Line> probes;
  Line last_train{};
  size_t bad = 0, number = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t newline = text.find('\n', start);
    if (newline == std::string_view::npos) break;
    const Line line{text.substr(start, newline - start), ++number};
    start = newline + 1;
    // Most lines are "train" records, and most of these are not needed: parsing is what takes time.
    if (line.text.find("\"train\"") != std::string_view::npos) {
      last_train = line;
      if (line.text.find("\"probes\"") != std::string_view::npos) probes.push_back(line);
      continue;
    }
    if (line.text.empty()) continue;
    const json record = parse_line(line, name, bad, out);
    if (record.is_null()) continue;
    const std::string kind = text_at(record, "kind");
    out.last_step = std::max(out.last_step, count_at(record, "step"));
    if (kind == "epoch") out.epochs.push_back(epoch_of(record));
    if (kind == "decision") out.decisions.push_back(decision_of(record));
  }
  if (!last_train.text.empty()) {
    const json record = parse_line(last_train, name, bad, out);
    if (record.is_object()) {
      out.last_step = std::max(out.last_step, count_at(record, "step"));
      out.last_loss = number_at(record, "loss");
    }
  }
  const size_t wanted = std::min(probes.size(), most_probes);
  for (size_t i = 0; i < wanted; ++i) {
    const size_t place = wanted == 1 ? probes.size() - 1 : i * (probes.size() - 1) / (wanted - 1);
    const json record = parse_line(probes[place], name, bad, out);
    if (!record.is_object()) continue;
    if (auto probe = probe_of(record)) out.probes.push_back(std::move(*probe));
  }
  if (bad > 1) out.notes.back() += core::cat(" (and ", bad - 1, " more lines)");
  return out;
}

}  // namespace adagp::report
