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
void add_report(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);

// What `completion` takes: shells, and man.
std::vector<std::string> completion_kinds();
// Of `paper`: the flag --energy and those that need it, and what runs it. What both share is read
// from paper's own flags, which are declared before.
Action add_energy(CLI::App& paper);
// Of `reproduce`: a finished run made again, in `output` or, where that is empty, in RUN-rerun.
int run_rerun(const std::string& run, const std::string& output, bool json);

}  // namespace adagp::apps
