#include "adagp/results/report/run_files.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <functional>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/toml_keys.h"
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

}  // namespace adagp::report
