// adagp doctor: what this build can do on this machine, and what to do about what it cannot.

#include <algorithm>
#include <iomanip>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/core/output.h"
#include "adagp/base/core/provenance.h"
#include "adagp/base/core/text.h"
#include "adagp/lab/doctor/examine.h"
#include "commands.h"

namespace adagp::apps {
namespace {

void print_checks(const std::vector<doctor::Check>& checks, bool possible) {
  size_t width = 0;
  for (const doctor::Check& check : checks) width = std::max(width, check.name.size());
  for (const doctor::Check& check : checks) {
    std::ostringstream line;
    line << std::left << std::setw(5) << doctor::health_name(check.health) << " "
         << std::setw(static_cast<int>(width)) << check.name << "  " << check.value << "\n";
    if (!check.advice.empty()) line << std::string(width + 8, ' ') << check.advice << "\n";
    core::print(line.str());
  }
  core::print(possible ? "Training is possible.\n" : "Training is NOT possible: see FAIL above.\n");
}

void print_json(const std::vector<doctor::Check>& checks, bool possible) {
  nlohmann::json list = nlohmann::json::array();
  for (const doctor::Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"status", core::lower(doctor::health_name(check.health))},
                    {"value", check.value},
                    {"advice", check.advice}});
  }
  core::print_data(nlohmann::json{{"training_possible", possible}, {"checks", list}}.dump(2) +
                   "\n");
}

int run_doctor(bool json) {
  const auto checks = doctor::examine(core::version());
  const bool possible = doctor::training_possible(checks);
  if (json) {
    print_json(checks, possible);
  } else {
    print_checks(checks, possible);
  }
  return possible ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("doctor", "What this build can do on this machine");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json, &action] { action = [json] { return run_doctor(*json); }; });
}

}  // namespace adagp::apps
