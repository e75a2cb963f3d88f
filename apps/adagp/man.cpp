// adagp completion man: the manual pages, from what the program parses its flags with.

#include <algorithm>
#include <cctype>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/provenance.h"
#include "adagp/base/core/text.h"
#include "prompt_words.h"

namespace adagp::apps {
namespace {

// Text for roff: backslashes and what begins a line with a dot or quote would be read as commands;
// a hyphen in a flag must stay one.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool start = out.empty() || out.back() == '\n';
    if (start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string page_name(const std::string& path) {
  std::string name = path.empty() ? "adagp" : "adagp-" + path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string synopsis(const PromptCommand& command) {
  std::string text = "\\fBadagp" + (command.path.empty() ? "" : " " + roff(command.path)) + "\\fR";
  text += " [\\fIoptions\\fR]";
  for (const PromptFlag& flag : command.flags) {
    if (!flag.positional) continue;
    const std::string name = "\\fI" + roff(flag.names[0]) + "\\fR";
    text += flag.required ? " " + name : " [" + name + "]";
  }
  if (!command.commands.empty()) text += " \\fIcommand\\fR";
  return text;
}

std::string flag_entry(const PromptFlag& flag) {
  std::vector<std::string> names;
  for (const auto& name : flag.names) {
    names.push_back((flag.positional ? "\\fI" : "\\fB") + roff(name) + "\\fR");
  }
  std::string text = ".TP\n" + core::join(names, ", ");
  if (!flag.value.empty() && !flag.positional) text += " \\fI" + roff(flag.value) + "\\fR";
  text += "\n" + roff(flag.about.empty() ? flag.names.back() : flag.about);
  if (!flag.usual.empty()) text += " (default: " + roff(flag.usual) + ")";
  return text + "\n";
}

std::string man_page(const PromptCommand& command, const std::vector<PromptCommand>& all) {
  std::string title = page_name(command.path);
  std::string upper = title;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = core::cat(".TH \"", roff(upper), "\" 1 \"\" \"adagp ", core::version(),
                               "\" \"User Commands\"\n.SH NAME\n", roff(title), " \\- ",
                               roff(command.about), "\n.SH SYNOPSIS\n", synopsis(command), "\n");
  const auto section = [&](const char* heading, bool positional) {
    std::string entries;
    for (const PromptFlag& flag : command.flags) {
      if (flag.positional == positional) entries += flag_entry(flag);
    }
    if (!entries.empty()) text += core::cat(".SH ", heading, "\n", entries);
  };
  section("ARGUMENTS", true);
  section("OPTIONS", false);
  std::string below;
  for (const PromptCommand& other : all) {
    const bool direct = !other.path.empty() && other.path.substr(0, other.path.rfind(' ') + 1) ==
                                                   (command.path.empty() ? "" : command.path + " ");
    if (direct) {
      below +=
          core::cat(".TP\n\\fB", roff(page_name(other.path)), "\\fR(1)\n", roff(other.about), "\n");
    }
  }
  if (!below.empty()) text += ".SH COMMANDS\n" + below;
  if (!command.footer.empty()) {
    text += core::cat(".SH NOTES\n.nf\n", roff(command.footer), "\n.fi\n");
  }
  return text;
}

}  // namespace

void write_man_pages(const CLI::App& app, const std::string& folder) {
  const auto commands = prompt_commands(app);
  core::make_folder(folder);
  for (const PromptCommand& command : commands) {
    core::write_file(core::fs::path(folder) / (page_name(command.path) + ".1"),
                     man_page(command, commands));
  }
  core::log_info(core::cat("completion: wrote ", commands.size(), " pages to ", folder));
}

std::string man_page_of(const CLI::App& app, const std::string& path) {
  const auto commands = prompt_commands(app);
  std::vector<std::string> paths;
  for (const PromptCommand& command : commands) {
    if (command.path == path) return man_page(command, commands);
    if (!command.path.empty()) paths.push_back(command.path);
  }
  throw UsageError("completion man: unknown command '" + path + "'" +
                   core::suggestion(path, paths));
}

}  // namespace adagp::apps
