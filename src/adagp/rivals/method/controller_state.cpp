// The controller's state and decisions as JSON.

#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/rivals/method/controller.h"

namespace adagp::method {
namespace {

using nlohmann::json;

json finite(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

[[noreturn]] void bad_state(const std::string& what) {
  throw DataError(core::cat("auto: saved controller: ", what,
                            "; resume with the checkpoint of a run with the same options"));
}

const json& member(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) bad_state(core::cat("'", key, "' is missing"));
  return object.at(key);
}

int64_t whole(const json& object, const char* key, int64_t from, int64_t to) {
  const json& value = member(object, key);
  if (!value.is_number_integer() || value.get<int64_t>() < from || value.get<int64_t>() > to) {
    bad_state(core::cat("'", key, "' is ", value.dump(), ", expected a whole number from ", from,
                        " to ", to));
  }
  return value.get<int64_t>();
}

int64_t count(const json& object, const char* key) {
  return whole(object, key, 0, INT64_MAX / 8);
}

double real(const json& value, const char* key) {
  if (!value.is_number()) {
    bad_state(core::cat("'", key, "' is ", value.dump(), ", expected a number"));
  }
  return value.get<double>();
}

double real_at(const json& object, const char* key) {
  return real(member(object, key), key);
}

const json& list(const json& object, const char* key, size_t most) {
  const json& value = member(object, key);
  if (!value.is_array() || value.size() > most) {
    bad_state(core::cat("'", key, "' is ", value.dump(), ", expected a list of at most ", most));
  }
  return value;
}

std::vector<double> reals(const json& object, const char* key, size_t most) {
  std::vector<double> out;
  for (const json& value : list(object, key, most)) out.push_back(real(value, key));
  return out;
}

}  // namespace

json to_json(const Decision& d) {
  return {{"batch", d.batch},
          {"what", d.what},
          {"step", d.step},
          {"k", d.k},
          {"tried", d.tried},
          {"rate", finite(d.rate)},
          {"bp_rate", finite(d.bp_rate)},
          {"advantage", finite(d.advantage)},
          {"low", finite(d.low)},
          {"seconds", finite(d.seconds)},
          {"bp_seconds", finite(d.bp_seconds)},
          {"pairs", d.pairs}};
}

json Controller::state() const {
  const auto due = [](const Due& d) { return json{{"at", d.at}, {"wait", d.wait}}; };
  json trials = json::array();
  for (const Due& trial : now_.trials) trials.push_back(due(trial));
  const Round& r = now_.round;
  return {{"steps", options_.steps},
          {"batches", now_.batches},
          {"spent", now_.spent},
          {"step", now_.step},
          {"k", now_.k},
          {"changed", now_.changed},
          {"reference",
           {{"rate", now_.reference.rate},
            {"bp_rate", now_.reference.bp_rate},
            {"low", now_.reference.low}}},
          {"check", due(now_.check)},
          {"raise", due(now_.raise)},
          {"trials", trials},
          {"round",
           {{"step", r.step},
            {"k", r.k},
            {"rates", r.rates},
            {"bp_rates", r.bp_rates},
            {"seconds", r.seconds},
            {"bp_seconds", r.bp_seconds},
            {"batches", r.batches},
            {"bp_batches", r.bp_batches}}}};
}

Controller::State Controller::read_state(const json& state) const {
  const json names = member(state, "steps");
  if (names != json(options_.steps)) {
    bad_state(core::cat("'steps' is ", names.dump(), ", expected ", json(options_.steps).dump()));
  }
  const auto due = [](const json& value) { return Due{count(value, "at"), count(value, "wait")}; };
  const int64_t last = static_cast<int64_t>(options_.steps.size()) - 1;
  const auto pairs = static_cast<size_t>(options_.pairs);

  State out;
  out.batches = count(state, "batches");
  out.spent = count(state, "spent");
  out.step = whole(state, "step", -1, last);
  out.k = whole(state, "k", out.step < 0 ? 0 : 1, out.step < 0 ? 0 : options_.most);
  out.changed = count(state, "changed");
  const json& reference = member(state, "reference");
  out.reference.rate = real_at(reference, "rate");
  out.reference.bp_rate = real_at(reference, "bp_rate");
  out.reference.low = real_at(reference, "low");
  out.check = due(member(state, "check"));
  out.raise = due(member(state, "raise"));
  const json& trials = list(state, "trials", options_.steps.size());
  if (trials.size() != options_.steps.size()) {
    bad_state(
        core::cat("'trials' has ", trials.size(), " entries, expected ", options_.steps.size()));
  }
  for (const json& trial : trials) out.trials.push_back(due(trial));

  const json& round = member(state, "round");
  Round& r = out.round;
  r.step = whole(round, "step", -1, last);
  r.k = whole(round, "k", r.step < 0 ? 0 : 1, r.step < 0 ? 0 : options_.most);
  r.rates = reals(round, "rates", pairs);
  r.bp_rates = reals(round, "bp_rates", pairs);
  const int64_t ahead =
      static_cast<int64_t>(r.rates.size()) - static_cast<int64_t>(r.bp_rates.size());
  const size_t windows = r.rates.size() + r.bp_rates.size();
  const int64_t expected = windows % 2 == 0 ? 0 : windows % 4 == 1 ? -1 : 1;
  if (ahead != expected || windows >= 2 * pairs || (windows > 0 && !r.running())) {
    bad_state(core::cat("a round of k = ", r.k, " with ", r.rates.size(), " windows of it and ",
                        r.bp_rates.size(), " of plain backprop"));
  }
  r.seconds = real_at(round, "seconds");
  r.bp_seconds = real_at(round, "bp_seconds");
  r.batches = count(round, "batches");
  r.bp_batches = count(round, "bp_batches");
  return out;
}

void Controller::load_state(const json& state) {
  now_ = read_state(state);
  plan();
}

}  // namespace adagp::method
