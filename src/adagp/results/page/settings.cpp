// What differs between the runs, on which machine they ran, and how to have them again.

#include <map>
#include <set>

#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/toml_keys.h"
#include "adagp/results/page/sections.h"

namespace adagp::page {
namespace {

using report::RunFiles;
using Values = std::map<std::string, std::string>;

constexpr size_t kMostColumns = 12;

std::string value_in(const Values& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "-" : core::toml_plain(found->second);
}

// Keys whose values are not the same in all families; seeds differ on purpose.
std::set<std::string> differing(const std::vector<Family>& families) {
  std::set<std::string> keys, out;
  for (const Family& family : families) {
    for (const auto& entry : family.runs[0]->config) keys.insert(entry.first);
  }
  for (const std::string& key : keys) {
    for (const Family& family : families) {
      const bool same =
          value_in(family.runs[0]->config, key) == value_in(families[0].runs[0]->config, key);
      if (!same && key != "seed") out.insert(key);
    }
  }
  return out;
}

std::string command_of(const RunFiles& run) {
  if (run.setting({"origin"}) == "python") return "";
  // Not recorded: what it was told is in its folder.
  return "adagp train " + core::shell_word((run.folder / "config.toml").string()) + " -o " +
         core::shell_word(run.name + "-again");
}

}  // namespace

void add_settings(Page& page, const Group& group, const std::string& id) {
  const auto families = families_of(group);
  if (families.size() < 2) return;
  const auto keys = differing(families);
  page.body += heading(3, id + "-settings", "Settings that differ");
  if (keys.empty()) {
    page.body += "<p>None but the seeds.</p>\n";
    return;
  }
  const size_t shown = std::min(families.size(), kMostColumns);
  std::vector<report::Column> columns = {{"key", report::Align::kLeft}};
  for (size_t i = 0; i < shown; ++i) columns.push_back({families[i].label, report::Align::kLeft});
  report::Table table(columns);
  for (const std::string& key : keys) {
    std::vector<std::string> cells = {key};
    for (size_t i = 0; i < shown; ++i) cells.push_back(value_in(families[i].runs[0]->config, key));
    table.add_row(cells);
  }
  page.add_table(table.html("Keys of config.toml with more than one value"),
                 "Settings that differ");
  if (shown < families.size()) {
    page.body += core::cat("<p>The first ", shown, " of ", families.size(), " are shown.</p>\n");
  }
}

void add_commands(Page& page, const Group& group, const std::string& id) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> environment;
  std::string commands;
  std::set<std::string> told;
  for (const RunFiles& run : group.runs) {
    for (const auto& [key, value] : run.environment) environment[key][value].push_back(run.name);
    const auto recorded = run.environment.find("command");
    const std::string command =
        recorded == run.environment.end() ? command_of(run) : recorded->second;
    if (!command.empty() && told.insert(command).second) commands += command + "\n";
  }
  page.body += heading(3, id + "-machine", "Environment and commands");
  if (!environment.empty()) {
    report::Table table(report::titled({"<what", "<value"}));
    for (const auto& [key, values] : environment) {
      constexpr size_t kMost = 3;
      std::vector<std::string> shown;
      for (const auto& [value, runs] : values) {
        if (shown.size() < kMost) shown.push_back(value);
      }
      const std::string more =
          values.size() > kMost ? core::cat(" and ", values.size() - kMost, " more") : "";
      table.add_row({key, core::join(shown, "; ") + more});
    }
    page.add_table(table.html("environment.json of the runs"), "Environment");
  }
  if (!commands.empty()) {
    page.body +=
        "<details><summary>Commands that make the runs again</summary>\n<pre tabindex=\"0\">" +
        safe(commands) + "</pre></details>\n";
  }
}

}  // namespace adagp::page
