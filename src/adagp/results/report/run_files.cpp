#include "adagp/results/report/run_files.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/toml_keys.h"
#include "adagp/results/report/conditions.h"
#include "adagp/sim/layers/table.h"

namespace adagp::report {
namespace {

using core::fs::path;

bool is_there(const path& file) {
  std::error_code ignored;
  return core::fs::exists(file, ignored);
}

// Runs `read` on a file that is there; what is wrong with it becomes a note.
void try_file(RunFiles& run, const char* name, const std::function<void(const path&)>& read) {
  const path file = run.folder / name;
  if (!is_there(file)) return;
  try {
    read(file);
  } catch (const Error& error) {
    run.notes.emplace_back(error.what());
  } catch (const nlohmann::json::exception& error) {
    run.notes.push_back(file.string() + ": " + core::plain_message(error));
  }
}

// A list of words is a command.
std::string environment_text(const nlohmann::json& value) {
  const auto is_text = [](const nlohmann::json& one) { return one.is_string(); };
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array() && std::all_of(value.begin(), value.end(), is_text)) {
    std::vector<std::string> words;
    for (const auto& word : value) words.push_back(core::shell_word(word.get<std::string>()));
    return core::join(words, " ");
  }
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::map<std::string, std::string> read_environment(const path& file) {
  const auto json = core::read_json(file);
  if (!json.is_object()) throw DataError(file.string() + ": expected a JSON object");
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : json.items()) out[key] = environment_text(value);
  return out;
}

double seconds_since_change(const path& file) {
  std::error_code error;
  const auto changed = core::fs::last_write_time(file, error);
  if (error) return std::numeric_limits<double>::quiet_NaN();
  return std::chrono::duration<double>(core::fs::file_time_type::clock::now() - changed).count();
}

// "run10" after "run9".
bool natural_less(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    size_t end_a = i, end_b = j;
    while (end_a < a.size() && digit(a[end_a])) ++end_a;
    while (end_b < b.size() && digit(b[end_b])) ++end_b;
    while (i + 1 < end_a && a[i] == '0') ++i;
    while (j + 1 < end_b && b[j] == '0') ++j;
    if (end_a - i != end_b - j) return end_a - i < end_b - j;
    const int order = a.compare(i, end_a - i, b, j, end_b - j);
    if (order != 0) return order < 0;
    i = end_a, j = end_b;
  }
  return a.size() - i < b.size() - j;
}

std::vector<LayerProbe> layers_of(const ProbeRecord& record) {
  std::vector<LayerProbe> out;
  for (size_t l = 0; l < record.layers.size(); ++l) {
    out.push_back({record.at(l, Probe::kCosine), record.at(l, Probe::kMse),
                   record.at(l, Probe::kMape), record.at(l, Probe::kRelativeError)});
  }
  return out;
}

double figure(const EpochRecord& record, const char* name) {
  const auto found = record.figures.find(name);
  return found == record.figures.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

// "top-1 41.20": the first figure of the last evaluation that is no loss.
std::string last_score(const RunFiles& run) {
  if (run.metrics.epochs.empty()) return "-";
  for (const auto& [name, value] : run.metrics.epochs.back().figures) {
    if (!name.starts_with("test_") || name == "test_loss") continue;
    return core::cat(metric_named(name.substr(5)).label, " ", core::fixed(value, 2));
  }
  return "-";
}

std::string time_text(double seconds) {
  return std::isfinite(seconds) && seconds >= 0 ? core::human_seconds(seconds) : "-";
}

}  // namespace

std::string RunFiles::setting(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    const auto found = config.find(key);
    if (found != config.end()) return core::toml_plain(found->second);
  }
  return "";
}

int64_t RunFiles::number(const char* key) const {
  long long value = 0;
  return core::parse_integer(setting({key}), value) ? value : 0;
}

std::string RunFiles::method() const {
  return summary ? summary->method : setting({"method"});
}
std::string RunFiles::model() const {
  return summary ? summary->model : setting({"model.name", "model"});
}
std::string RunFiles::data() const {
  return summary ? summary->data : setting({"data.name", "data"});
}
int64_t RunFiles::seed() const {
  return summary ? summary->seed : number("seed");
}
int64_t RunFiles::epochs() const {
  return summary ? summary->epochs : number("epochs");
}
int64_t RunFiles::batch() const {
  return summary ? summary->batch : number("batch");
}

bool is_run_folder(const path& folder) {
  return is_there(folder / "config.toml") || is_there(folder / "summary.json") ||
         is_there(folder / "metrics.jsonl");
}

RunFiles read_run(const path& folder) {
  RunFiles run;
  run.folder = folder;
  const path clean = core::fs::weakly_canonical(folder);
  run.name = clean.filename().string();
  run.age = seconds_since_change(folder / "metrics.jsonl");
  run.metrics.last_loss = std::numeric_limits<double>::quiet_NaN();
  try_file(run, "config.toml", [&](const path& file) {
    run.config = core::toml_keys(core::read_regular_file(file), file.string());
  });
  try_file(run, "environment.json",
           [&](const path& file) { run.environment = read_environment(file); });
  try_file(run, "layers.csv", [&](const path& file) {
    const auto table = layers::from_csv(core::read_regular_file(file), file.string());
    for (const layers::Row& row : table.rows) run.layers.push_back(row.name);
  });
  try_file(run, "metrics.jsonl", [&](const path& file) {
    run.metrics = parse_metrics(core::read_regular_file(file), file.string());
  });
  try_file(run, "summary.json", [&](const path& file) { run.summary = Summary::read(file); });
  run.notes.insert(run.notes.end(), run.metrics.notes.begin(), run.metrics.notes.end());
  return run;
}

std::vector<path> run_folders_in(const path& folder) {
  std::vector<path> out;
  std::error_code error;
  for (core::fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const bool hidden = at->path().filename().string().starts_with(".");
    std::error_code ignored;
    if (!hidden && at->is_directory(ignored) && is_run_folder(at->path()))
      out.push_back(at->path());
  }
  if (error) throw DataError(folder.string() + ": cannot be listed: " + error.message());
  std::sort(out.begin(), out.end(), [](const path& a, const path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  return out;
}

std::vector<EpochHistory> read_history(const core::fs::path& metrics) {
  const Metrics found = parse_metrics(core::read_regular_file(metrics), metrics.string(),
                                      std::numeric_limits<size_t>::max());
  if (!found.notes.empty()) throw DataError(found.notes.front());
  std::vector<EpochHistory> out;
  double seconds_before = 0;
  size_t next = 0;
  for (const EpochRecord& record : found.epochs) {
    EpochHistory now;
    now.epoch = record.epoch;
    now.train_loss = figure(record, "train_loss");
    now.test_loss = figure(record, "test_loss");
    now.seconds = record.seconds - seconds_before;
    seconds_before = record.seconds;
    for (; next < found.probes.size() && found.probes[next].step <= record.step; ++next) {
      now.layers = layers_of(found.probes[next]);
      const double loss = found.probes[next].predictor_loss;
      if (std::isfinite(loss)) now.predictor_loss = loss;
    }
    out.push_back(std::move(now));
  }
  return out;
}

double seconds_left(const RunFiles& run) {
  const auto& epochs = run.metrics.epochs;
  if (epochs.empty() || run.epochs() < 1) return std::numeric_limits<double>::quiet_NaN();
  const auto done = static_cast<double>(epochs.back().epoch + 1);
  const double left = static_cast<double>(run.epochs()) - done;
  return done > 0 ? std::max(0.0, epochs.back().seconds / done * left)
                  : std::numeric_limits<double>::quiet_NaN();
}

Table progress_table(const std::vector<RunFiles>& runs) {
  Table table({"<run", "<method", "epoch", "of", "batches", "loss", "score", "training", "left",
               "last record"});
  for (const RunFiles& run : runs) {
    if (run.finished()) continue;
    const auto& epochs = run.metrics.epochs;
    table.add_row({run.folder.string(), run.method(),
                   core::cat(epochs.empty() ? 0 : epochs.back().epoch + 1), core::cat(run.epochs()),
                   core::cat(run.metrics.last_step), number_or_dash(run.metrics.last_loss, 4),
                   last_score(run), time_text(epochs.empty() ? NAN : epochs.back().seconds),
                   time_text(seconds_left(run)),
                   std::isfinite(run.age) ? time_text(std::max(0.0, run.age)) + " ago" : "-"});
  }
  return table;
}

}  // namespace adagp::report
