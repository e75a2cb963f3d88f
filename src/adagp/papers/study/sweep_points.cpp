#include "adagp/papers/study/sweep_points.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/base/schedule/schedule.h"
#include "adagp/papers/study/details.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/papers/study/study.h"
#include "adagp/sim/accel/design/design.h"

namespace adagp::study {
namespace {

constexpr size_t kMostPoints = 10'000;  // a run each: nobody has the time for more

using Field = core::Binding::Field;

bool is_whole(const Field& field) {
  return std::holds_alternative<int64_t*>(field.target);
}
bool is_real(const Field& field) {
  return std::holds_alternative<double*>(field.target);
}
bool has_own_commas(const Field& field) {
  return field.key == "schedule" || std::holds_alternative<std::vector<double>*>(field.target) ||
         std::holds_alternative<std::vector<int64_t>*>(field.target) ||
         std::holds_alternative<std::vector<std::string>*>(field.target);
}

// Adding and multiplying steps leaves rounding errors: 0.1 * 1.1 is not the 0.11 that is meant.
std::string twelve_digits(double value) {
  std::ostringstream out;
  out.precision(12);
  out << value;
  double clean = 0;
  core::parse_number(out.str(), clean);
  return core::shortest(clean);
}

struct SweptRange {
  double from = 0, to = 0, step = 1;
  bool times = false;
};

// "8..64*2"; nothing when it is no range.
std::optional<SweptRange> range_in(const std::string& text, const std::string& key) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const size_t mark = text.find_first_of(":*", dots);
  SweptRange out;
  const bool stepped = mark != std::string::npos;
  const auto number = [&](std::string_view part, double& value) {
    return core::parse_number(core::trim(part), value) && std::isfinite(value);
  };
  const bool read =
      number(text.substr(0, dots), out.from) &&
      number(text.substr(dots + 2, stepped ? mark - dots - 2 : std::string::npos), out.to) &&
      (!stepped || number(text.substr(mark + 1), out.step));
  out.times = stepped && text[mark] == '*';
  const bool arrives = out.times ? out.from > 0 && out.step > 1 : out.step > 0;
  if (!read || !arrives || out.to < out.from) {
    throw UsageError("--over: " + key + ": '" + text +
                     "', expected a rising range as 1..4, 8..64:8 or 0.01..1*10");
  }
  return out;
}

std::vector<std::string> values_of(const SweptRange& range, const Field& field,
                                   const std::string& text) {
  std::vector<std::string> out;
  constexpr double kSlack = 1e-9;  // the last value counts although its sum was rounded
  double value = range.from;
  for (int i = 1; value <= range.to * (1 + kSlack) + (range.to == 0 ? kSlack : 0); ++i) {
    if (is_whole(field) && std::floor(value) != value) {
      throw UsageError("--over: " + field.key + ": '" + text + "' gives " + twelve_digits(value) +
                       ", expected whole numbers");
    }
    out.push_back(is_whole(field) ? core::cat(static_cast<int64_t>(value)) : twelve_digits(value));
    if (out.size() > kMostPoints) {
      throw UsageError(core::cat("--over: ", field.key, ": '", text, "' has more than ",
                                 kMostPoints, " values"));
    }
    value = range.times ? range.from * std::pow(range.step, i) : range.from + range.step * i;
  }
  return out;
}

const Field& field_of(core::Binding& binding, const std::string& key) {
  for (const Field& field : binding.fields()) {
    if (field.key == key) return field;
  }
  throw UsageError("--over: unknown key '" + key + "'" + core::suggestion(key, binding.keys()));
}

SweptKey parse_key(const std::string& text, core::Binding& binding) {
  const size_t equals = text.find('=');
  const std::string key = core::trim(text.substr(0, equals));
  if (equals == std::string::npos || key.empty()) {
    throw UsageError("--over: '" + text +
                     "', expected key=value,value with '|' between keys, as "
                     "\"optim.lr=0.05,0.1|predictor.channels=8..32*2\"");
  }
  const Field& field = field_of(binding, key);
  const std::string list = text.substr(equals + 1);
  const bool semicolons = has_own_commas(field) || list.find(';') != std::string::npos;
  SweptKey out{key, {}};
  for (const std::string& part : split_outside(list, semicolons ? ';' : ',')) {
    const std::string value = core::trim(part);
    if (value.empty()) throw UsageError("--over: " + key + ": an empty value in '" + list + "'");
    std::vector<std::string> values{value};
    if (is_whole(field) || is_real(field)) {
      if (const auto range = range_in(value, key)) values = values_of(*range, field, value);
    }
    for (const std::string& one : values) {
      binding.set(key, one, "--over " + key);  // refuses what the key cannot be
      if (std::find(out.values.begin(), out.values.end(), one) != out.values.end()) {
        throw UsageError("--over: " + key + ": '" + one + "' is given twice");
      }
      out.values.push_back(one);
    }
  }
  return out;
}

using schedule::Stretch;

// Stretches of no epochs are left out.
std::string schedule_text(const std::vector<std::pair<int64_t, std::string>>& stretches) {
  std::vector<std::string> parts;
  for (const auto& [epochs, ratio] : stretches) {
    if (epochs > 0) parts.push_back(core::cat(epochs, "ep ", ratio));
  }
  return core::join(parts, ", ");
}

// The published ratios in the opposite order, so that GP batches become more and more.
std::string rising(const schedule::Schedule& published, int64_t epochs) {
  std::vector<std::pair<int64_t, std::string>> out;
  int64_t used = 0;
  for (const Stretch& stretch : published.stretches()) {
    const int64_t length = stretch.epochs > 0 ? stretch.epochs : epochs - used;
    out.emplace_back(
        length, stretch.predicted == 0 ? "bp" : core::cat(stretch.predicted, ":", stretch.exact));
    used += length;
  }
  std::reverse(out.begin() + 1, out.end());  // the warm-up stays first
  return schedule_text(out);
}

}  // namespace

std::vector<SweptKey> parse_swept_keys(
    const std::string& text, core::Binding& binding,
    const std::vector<std::pair<std::string, std::string>>& refused) {
  std::vector<SweptKey> keys;
  for (const std::string& part : split_outside(text, '|')) {
    if (core::trim(part).empty()) throw UsageError("--over: an empty key in '" + text + "'");
    SweptKey key = parse_key(part, binding);
    for (const auto& [name, why] : refused) {
      if (key.key == name) throw UsageError("--over: '" + name + "' cannot be swept: " + why);
    }
    const bool twice = std::any_of(keys.begin(), keys.end(),
                                   [&](const SweptKey& other) { return other.key == key.key; });
    if (twice) throw UsageError("--over: '" + key.key + "' is given twice");
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<SweepPoint> grid(const std::vector<SweptKey>& keys) {
  size_t count = 1;
  for (const SweptKey& key : keys) {
    count *= key.values.size();
    if (count > kMostPoints) {
      throw UsageError(core::cat("--over: more than ", kMostPoints,
                                 " combinations, and each is a training of its own; name fewer "
                                 "values"));
    }
  }
  std::vector<SweepPoint> points(1);
  for (const SweptKey& key : keys) {
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (const std::string& value : key.values) {
        longer.push_back(point);
        longer.back().values.emplace_back(key.key, value);
        longer.back().name += (point.name.empty() ? "" : ", ") + key.key + "=" + value;
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::vector<SweepPoint> draw_points(const std::vector<SweepPoint>& points, int64_t count,
                                    uint64_t seed) {
  const auto all = static_cast<int64_t>(points.size());
  if (count >= all) return points;
  std::vector<int64_t> order = core::permutation(all, seed);
  order.resize(static_cast<size_t>(count));
  std::sort(order.begin(), order.end());
  std::vector<SweepPoint> out;
  for (const int64_t index : order) out.push_back(points[static_cast<size_t>(index)]);
  return out;
}

std::vector<SweepPoint> schedule_points(int64_t epochs) {
  if (epochs < kLeastStudyEpochs) {
    throw UsageError(core::cat("study schedules: epochs = ", epochs, ", expected at least ",
                               kLeastStudyEpochs, ": warm-up and ratios need whole epochs"));
  }
  const auto published = schedule::Schedule::parse("auto", epochs);
  const int64_t warm_up = published.stretches().front().epochs;

  std::vector<SweepPoint> points;
  const auto add = [&](const std::string& name, const std::string& text) {
    const bool known = std::any_of(points.begin(), points.end(), [&](const SweepPoint& point) {
      return point.values.front().second == text;
    });
    if (!known) points.push_back({name, {{"schedule", text}}});
  };
  add("published", published.str());
  for (const char* ratio : {"1:2", "1:1", "2:1", "4:1"}) {
    add(core::cat("fixed ", ratio), core::cat(warm_up, "ep bp, ", ratio));
  }
  for (const int64_t length : {int64_t{0}, warm_up / 2, 2 * warm_up, 4 * warm_up}) {
    if (length >= epochs) continue;
    add(core::cat("warm-up ", length),
        length == 0 ? std::string("1:1") : core::cat(length, "ep bp, 1:1"));
  }
  add("rising", rising(published, epochs));
  // The same share of GP batches at once, as 3:1: a predictor without BP batches learns nothing.
  constexpr int64_t kManyBatches = 1000;  // the number of batches hardly moves the share
  constexpr double kPacked = 0.75;
  const double share = published.predicted_share(epochs, kManyBatches);
  const auto packed = std::min<int64_t>(
      epochs - warm_up, std::llround(share * static_cast<double>(epochs) / kPacked));
  const int64_t rest = epochs - warm_up - packed;
  add("early", schedule_text({{warm_up, "bp"}, {packed, "3:1"}, {rest, "bp"}}));
  add("middle",
      schedule_text({{warm_up + rest / 2, "bp"}, {packed, "3:1"}, {rest - rest / 2, "bp"}}));
  add("late", schedule_text({{warm_up + rest, "bp"}, {packed, "3:1"}}));
  return points;
}

std::optional<double> simulated_speedup(const SimulatedRun& run) {
  const predictor::Config& predictor = run.predictor;
  const bool shared = predictor.kind == "shared";
  if (!shared && predictor.kind != "remap") return std::nullopt;
  Options options;
  options.table = run.layers.string();
  options.arrays = "12x15";
  options.dataflows = "ws";
  options.batches = core::cat(run.batch);
  options.designs = "baseline,max";
  options.predictor_kind = predictor.kind;
  options.predictor_channels = core::cat(shared ? predictor.channels : predictor.remap_channels);
  if (shared) {
    options.predictor_pooled = core::cat(predictor.pooled);
    options.predictor_order = predictor.order;
    options.predictor_steps = predictor.steps;
    options.predictor_summary = core::cat(predictor.summary);
  }
  options.schedule = run.schedule;
  options.epochs = run.epochs;
  options.examples = run.examples;
  const Details details = detail(make_study(options), 0);
  for (const accel::DesignResult& result : details.training.designs) {
    if (result.design == &accel::kMax) return result.speedup;
  }
  return std::nullopt;
}

}  // namespace adagp::study
