#pragma once
// One function per command: declares its flags and, when the command was given, sets `action`.

#include <functional>

#include <CLI/CLI.hpp>

namespace adagp::apps {

// What main() runs after parsing; returns the exit code. Errors are thrown, main() prints them.
using Action = std::function<int()>;

void add_train(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
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
void add_pipeline(CLI::App& app, Action& action);
void add_paper(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_watch(CLI::App& app, Action& action);

}  // namespace adagp::apps
