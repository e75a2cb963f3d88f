#pragma once
// What can be typed at the prompt: commands, flags and their values, read from the structure that
// CLI11 parses with. The completion scripts and the manual pages are written from it.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace adagp::apps {

struct PromptFlag {
  std::vector<std::string> names;  // "-q", "--quiet"; of a positional argument its name alone
  std::string about;
  std::string value;                // what it takes: "TEXT", "FILE", ...; empty: nothing
  std::string usual;                // default, as text
  std::vector<std::string> values;  // what may be typed, where `adagp list` knows it
  bool positional = false, required = false;
};

struct PromptCommand {
  std::string path;  // "", "train", "rtl program"
  std::string about, footer;
  std::vector<std::string> commands;  // below it
  std::vector<PromptFlag> flags;
};

// `app` itself comes first, then every command, those below a command after it.
std::vector<PromptCommand> prompt_commands(const CLI::App& app);

// The manual page (roff) of a command, "rtl program", or of the program, "".
std::string man_page_of(const CLI::App& app, const std::string& path);
// The pages of all commands, as adagp-train.1.
void write_man_pages(const CLI::App& app, const std::string& folder);

}  // namespace adagp::apps
