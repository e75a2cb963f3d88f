#include "run_list_flags.h"

#include "number_flag.h"

namespace adagp::apps {

void RunListFlags::declare(CLI::App& command, const std::string& folder) {
  output = folder;
  add_number(command, "--seeds", seeds, "How many, from --seed on", 1, 1000)->capture_default_str();
  command.add_option("-o,--output", output, "Folder of the runs; the same command resumes it")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_flag("--overwrite", overwrite, "Run everything anew");
  command.add_flag("--json", json, "Print as JSON");
}

void RunListFlags::declare_budget(CLI::App& command) {
  add_number(command, "--budget", budget,
             "Seconds after which the run in work is saved; the same command goes on", 1e-3, 1e9);
}

}  // namespace adagp::apps
