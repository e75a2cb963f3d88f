#pragma once
// One function per command: declares its flags and, when the command was given, sets `action`.

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace adagp::apps {

// What main() runs after parsing; returns the exit code. Errors are thrown, main() prints them.
using Action = std::function<int()>;

void add_train(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_rerun(CLI::App& app, Action& action);
void add_sweep(CLI::App& app, Action& action);
void add_reproduce(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_layers(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_scalesim(CLI::App& app, Action& action);
void add_rtl(CLI::App& app, Action& action);
void add_rtl_run(CLI::App& rtl, Action& action);  // of `rtl`
void add_pipeline(CLI::App& app, Action& action);
void add_paper(CLI::App& app, Action& action);
void add_energy(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action);

std::vector<std::string> completion_shells();
void add_report(CLI::App& app, Action& action);
void add_watch(CLI::App& app, Action& action);

}  // namespace adagp::apps
