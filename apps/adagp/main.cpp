// adagp: parses the command line, runs one command, turns errors into exit codes.

#include <algorithm>
#include <cctype>
#include <csignal>
#include <exception>
#include <sstream>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/nvpl.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/provenance.h"
#include "adagp/base/core/text.h"
#include "commands.h"

#ifdef ADAGP_WITH_TORCH
#include "adagp/teams/comm/library_settings.h"
#endif
#ifdef ADAGP_WITH_RIVALS
#include "adagp/rivals/options/options.h"
#ifdef ADAGP_WITH_TORCH
#include "adagp/rivals/rivals.h"
#endif
#endif

namespace adagp::apps {
namespace {

constexpr int kUsage = 2;
// A queue asks by SIGUSR1 that a job saves its state before its time ends, and starts it again when
// it hears this.
constexpr int kAgain = 85;

int exit_code_of(const Error& error) {
  const int code = error.exit_code();
  return code == 128 + SIGUSR1 ? kAgain : code;
}

// The flags and commands an unknown word could have meant.
std::vector<std::string> known_words(const CLI::App& app, bool flags) {
  std::vector<std::string> words;
  if (flags) {
    for (const auto* option : app.get_options()) {
      for (const auto& name : option->get_lnames()) words.push_back("--" + name);
    }
  }
  for (const auto* command : app.get_subcommands({})) {
    if (!command->get_name().empty()) {
      if (!flags) words.push_back(command->get_name());
    } else if (flags) {  // a group of options, which CLI11 keeps as a nameless subcommand
      const auto more = known_words(*command, true);
      words.insert(words.end(), more.begin(), more.end());
    }
  }
  return words;
}

#ifdef ADAGP_WITH_TORCH
#define WITH_TORCH(add) add
#else
#define WITH_TORCH(add) nullptr
#endif

struct Command {
  const char *group, *name;
  void (*add)(CLI::App&, Action&);  // null: needs LibTorch, which this build has not
};
// In the order of `adagp --help`.
constexpr Command kCommands[] = {
    {"Train", "train", WITH_TORCH(add_train)},
    {"Train", "compare", WITH_TORCH(add_compare)},
    {"Train", "sweep", WITH_TORCH(add_sweep)},
    {"Train", "eval", WITH_TORCH(add_eval)},
    {"Train", "export", WITH_TORCH(add_export)},
    {"Look", "report", add_report},
    {"Look", "list", add_list},
    {"Look", "layers", add_layers},
    {"Look", "data", WITH_TORCH(add_data)},
    {"Simulate", "simulate", add_simulate},
    {"Simulate", "pipeline", add_pipeline},
    {"Simulate", "scalesim", add_scalesim},
    {"Simulate", "rtl", add_rtl},
    {"Reproduce", "reproduce", WITH_TORCH(add_reproduce)},
    {"Reproduce", "paper", add_paper},
    {"Tools", "doctor", WITH_TORCH(add_doctor)},
    {"Tools", "bench", WITH_TORCH(add_bench)},
    {"Tools", "completion", add_completion},
};

// Commands of earlier versions, and where their work is done now.
constexpr std::pair<const char*, const char*> kMoved[] = {
    {"energy", "adagp paper --energy"},    {"man", "adagp completion man"},
    {"rerun", "adagp reproduce RUN"},      {"trace", "adagp report --trace RUN"},
    {"watch", "adagp report --watch DIR"},
};

// Why there is no such command; empty: nobody ever had one.
std::string why_missing(const std::string& word) {
  for (const auto& [name, now] : kMoved) {
    if (word == name) return core::cat("'", word, "' is now '", now, "'");
  }
  for (const Command& command : kCommands) {
    if (word == command.name) {
      return "'" + word + "' needs LibTorch, and this build has none: see docs/install.md";
    }
  }
  return "";
}

// What the first argument or the subcommand that is missing may be; empty: neither is.
std::string missing_argument(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->get_positional() && option->count() == 0) {
      return option->get_description();
    }
  }
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands({})) {
    names.push_back(subcommand->get_name());
  }
  return core::join(names, ", ");
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  std::string command = "adagp";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  std::string message = error.what();
  // A misspelt word also leaves the right one missing: name the word that is there.
  const bool unknown_word = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                            dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (unknown_word && !at->remaining().empty()) {
    const std::string word = at->remaining().front();
    const bool flag = word.starts_with("-");
    const auto words = known_words(*at, flag);
    message = (flag            ? "unknown flag '"
               : words.empty() ? "unknown argument '"
                               : "unknown command '") +
              word + "'";
    const std::string near = core::closest(word, words);
    const std::string missing = at == &app ? why_missing(word) : "";
    if (!missing.empty()) {
      message = missing;
    } else if (!near.empty()) {
      message += "; did you mean '" + near + "'?";
    }
    // CLI11's words for a flag at the end of the line: "--model: 1 required TYPE missing".
  } else if (const size_t end = message.find(": 1 required "); end != std::string::npos) {
    message = message.substr(0, end) + ": expected a value";
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string choices = missing_argument(*at);
    if (!choices.empty()) message += ": " + choices;
  }
  core::log_error(message + " (see '" + command + " --help')");
  return kUsage;
}

// "-o=DIR" as "-o DIR": CLI11 takes the value of a short flag to be "=DIR". The result is in
// reverse order, as CLI11 wants it.
std::vector<std::string> split_short_flags(int argc, char** argv) {
  std::vector<std::string> words;
  bool flags = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    flags = flags && word != "--";  // what follows "--" is no flag
    const bool joined = flags && word.size() > 2 && word[0] == '-' && word[2] == '=' &&
                        std::isalpha(static_cast<unsigned char>(word[1])) != 0;
    if (joined && word.size() == 3) {
      throw UsageError(word + ": expected a value after the '='");
    }
    if (joined) words.push_back(word.substr(0, 2));
    words.push_back(joined ? word.substr(3) : word);
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// The keys of all, and what this build can do with them.
void add_rivals() {
#ifdef ADAGP_WITH_RIVALS
#ifdef ADAGP_WITH_TORCH
  rivals::add();
#else
  rivals::add_keys();
#endif
#endif
}

int run(int argc, char** argv) {
  add_rivals();
  core::remember_command(argc, argv);
  CLI::App app{
      "Train networks with adaptive gradient prediction (ADA-GP), beside backprop and honest "
      "controls."};
  app.name("adagp");
  app.set_version_flag("--version", "adagp " + core::version());
  app.require_subcommand(0, 1);
  bool quiet = false;
  app.add_flag("-q,--quiet", quiet, "Warnings and errors only");
  app.footer(
      "Exit codes: 0 done, 1 error, 2 usage, 3 data, 4 diverged, 130/143 interrupted (saved), 85 "
      "saved by SIGUSR1: start it again.");

  Action action;
  for (const Command& command : kCommands) {
    if (command.add == nullptr) continue;
    command.add(app, action);
    app.get_subcommand(command.name)->group(command.group);
  }

  try {
    app.parse(split_short_flags(argc, argv));
  } catch (const CLI::Success& success) {
    std::ostringstream text;  // --help, --version
    const int code = app.exit(success, text, text);
    core::print(text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  if (quiet) core::set_log_level(core::LogLevel::kWarning);
  if (!action) {
    core::print(app.help());
    return 0;
  }
  return action();
}

}  // namespace
}  // namespace adagp::apps

int main(int argc, char** argv) {
  using adagp::core::log_error;
  adagp::core::open_standard_streams();
  // The environment is changed here or nowhere: there is no second thread yet.
  adagp::core::avoid_nvpl_hang();
#ifdef ADAGP_WITH_TORCH
  adagp::comm::set_library_variables();
#endif
  try {
    const int code = adagp::apps::run(argc, argv);
    adagp::core::flush_stdout();
    return code;
  } catch (const adagp::Error& error) {
    log_error(error.what());
    return adagp::apps::exit_code_of(error);
  } catch (const std::exception& error) {
    log_error(adagp::core::plain_message(error));
    return 1;
  }
}
