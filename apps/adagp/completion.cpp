// adagp completion: what a shell needs to complete commands, flags and values, and what man shows.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "commands.h"
#include "prompt_words.h"

namespace adagp::apps {
namespace {

// Inside single quotes, for all three shells.
std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "'";
}

// A function `_adagp` over the words before the cursor. A value may be a list (a,b) or follow '='.
std::string bash_script(const std::vector<PromptCommand>& commands) {
  std::string paths, words, values;
  for (const PromptCommand& command : commands) {
    std::vector<std::string> names = command.commands, flags;
    for (const PromptFlag& flag : command.flags) {
      if (flag.positional) {
        names.insert(names.end(), flag.values.begin(), flag.values.end());
        continue;
      }
      flags.insert(flags.end(), flag.names.begin(), flag.names.end());
      if (flag.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const auto& name : flag.names) {
        patterns.push_back(single_quoted(command.path + " " + name));
      }
      values += core::cat("    ", core::join(patterns, "|"),
                          ") values=", single_quoted(core::join(flag.values, " ")), " ;;\n");
    }
    if (!command.path.empty()) paths += core::cat("      ", single_quoted(command.path), ") ;;\n");
    words += core::cat("    ", single_quoted(command.path),
                       ")\n      words=", single_quoted(core::join(names, " ")),
                       "\n      flags=", single_quoted(core::join(flags, " ")), " ;;\n");
  }
  return core::cat(R"(# bash completion of adagp; written by 'adagp completion bash'
_adagp() {
  local cur=${COMP_WORDS[COMP_CWORD]} last=$((COMP_CWORD - 1)) at= word i
  local values=- words= flags=
  # bash takes "--flag=value" apart at the '='.
  if [[ $cur == '=' ]]; then cur=; elif [[ ${COMP_WORDS[last]} == '=' ]]; then last=$((last - 1)); fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${at:+$at }${COMP_WORDS[i]}
    case $word in
)",
                   paths, R"(      *) continue ;;
    esac
    at=$word
  done
  case "$at ${COMP_WORDS[last]}" in
)",
                   values, R"(    *) ;;
  esac
  COMPREPLY=()
  if [[ $values != - ]]; then
    # Of a list the last part. No value known: bash offers files.
    local before=
    [[ $cur == *,* ]] && before=${cur%,*},
    COMPREPLY=($(compgen -P "$before" -W "$values" -- "${cur##*,}"))
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
  fi
  case $at in
)",
                   words, R"(  esac
  [[ $cur == -* ]] && words=$flags
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _adagp adagp
)");
}

// Brackets and colons mean something to _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("[]:\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_flag(const PromptFlag& flag) {
  const std::string value =
      flag.values.empty() ? "_files" : "(" + core::join(flag.values, " ") + ")";
  if (flag.positional) {
    const char* colons = flag.required ? ":" : "::";
    return single_quoted(core::cat(colons, zsh_text(flag.names[0]), ":", value));
  }
  std::vector<std::string> specs;
  for (const auto& name : flag.names) {
    const bool equals = !flag.value.empty() && name.starts_with("--");
    std::string spec = core::cat("*", name, equals ? "=" : "", "[", zsh_text(flag.about), "]");
    if (!flag.value.empty()) spec += core::cat(":", zsh_text(core::lower(flag.value)), ":", value);
    specs.push_back(single_quoted(spec));
  }
  return core::join(specs, " \\\n      ");
}

std::string zsh_script(const std::vector<PromptCommand>& commands) {
  std::string paths, cases;
  for (const PromptCommand& command : commands) {
    std::vector<std::string> specs;
    for (const PromptFlag& flag : command.flags) specs.push_back(zsh_flag(flag));
    if (!command.commands.empty()) {
      specs.push_back(single_quoted("1:command:(" + core::join(command.commands, " ") + ")"));
    }
    if (!command.path.empty()) paths += core::cat("      ", single_quoted(command.path), ") ;;\n");
    cases += core::cat("    ", single_quoted(command.path), ") _arguments \\\n      ",
                       core::join(specs, " \\\n      "), " ;;\n");
  }
  return core::cat(R"(#compdef adagp
# zsh completion of adagp; written by 'adagp completion zsh'
_adagp() {
  local at= word i
  integer depth=0
  for ((i = 2; i < CURRENT; i++)); do
    word=${at:+$at }${words[i]}
    case $word in
)",
                   paths, R"(      *) continue ;;
    esac
    at=$word
    depth=$i
  done
  # _arguments sees the command as the program, and what follows it.
  if ((depth > 0)); then
    words=("${(@)words[depth,-1]}")
    ((CURRENT -= depth - 1))
  fi
  case $at in
)",
                   cases, R"(  esac
}
_adagp "$@"
)");
}

std::string fish_script(const std::vector<PromptCommand>& commands) {
  std::string text =
      "# fish completion of adagp; written by 'adagp completion fish'\n"
      "# Whether the words before the cursor name this command and none below it.\n"
      "function __adagp_at\n"
      "  set -l known $argv[2..]\n"
      "  set -l at ''\n"
      "  for word in (commandline -opc)[2..]\n"
      "    set -l next (string trim \"$at $word\")\n"
      "    contains -- $next $known; and set at $next\n"
      "  end\n"
      "  test \"$at\" = \"$argv[1]\"\n"
      "end\n";
  std::vector<std::string> paths;
  for (const PromptCommand& command : commands) {
    if (!command.path.empty()) paths.push_back(single_quoted(command.path));
  }
  text += "set -g __adagp_commands " + core::join(paths, " ") + "\n";
  for (const PromptCommand& command : commands) {
    const std::string at =
        core::cat("complete -c adagp -n '__adagp_at \"", command.path, "\" $__adagp_commands'");
    for (const PromptCommand& below : commands) {
      const size_t space = below.path.rfind(' ');
      const std::string parent = space == std::string::npos ? "" : below.path.substr(0, space);
      if (below.path.empty() || parent != command.path) continue;
      text += core::cat(at, " -f -a ", below.path.substr(space + 1), " -d ",
                        single_quoted(below.about), "\n");
    }
    for (const PromptFlag& flag : command.flags) {
      std::string line = at;
      for (const auto& name : flag.names) {
        if (!flag.positional) {
          line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        }
      }
      if (flag.positional && flag.values.empty()) continue;
      if (!flag.value.empty() && !flag.positional) line += " -r";
      if (!flag.values.empty()) line += " -f -a " + single_quoted(core::join(flag.values, " "));
      // The sentence about an argument would stand beside every one of its values.
      if (!flag.positional) line += " -d " + single_quoted(flag.about);
      text += line + "\n";
    }
  }
  return text;
}

using ShellScript = std::pair<const char*, std::string (*)(const std::vector<PromptCommand>&)>;
constexpr ShellScript kShells[] = {
    {"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

constexpr const char* kMan = "man";

struct CompletionArgs {
  std::string kind, folder;
  std::vector<std::string> words;  // a command, for man
};

int run_completion(const CLI::App& app, const CompletionArgs& args) {
  if (args.kind != kMan) {
    if (!args.words.empty() || !args.folder.empty()) {
      throw UsageError("completion: COMMAND and --output belong to 'completion man'");
    }
    const auto& found = core::find_named(kShells, args.kind, "completion: unknown shell");
    core::print_data(found.second(prompt_commands(app)));
    return 0;
  }
  if (args.folder.empty()) {
    core::print_data(man_page_of(app, core::join(args.words, " ")));
    return 0;
  }
  if (!args.words.empty()) {
    throw UsageError("completion man: a command and --output; --output writes the pages of all");
  }
  write_man_pages(app, args.folder);
  return 0;
}

}  // namespace

std::vector<std::string> completion_kinds() {
  auto kinds = core::names_of(kShells);
  kinds.emplace_back(kMan);
  return kinds;
}

void add_completion(CLI::App& app, Action& action) {
  auto args = std::make_shared<CompletionArgs>();
  CLI::App* command = app.add_subcommand(
      "completion", "A script with which a shell completes commands and flags; manual pages");
  command->add_option("shell", args->kind, core::join(completion_kinds(), ", "))->required();
  command->add_option("command", args->words,
                      "man: the page of 'train' or 'rtl program' (default: of the program)");
  command->add_option("-o,--output", args->folder, "man: write the pages of all commands there")
      ->type_name("DIR");
  command->footer(
      "bash: adagp completion bash > ~/.local/share/bash-completion/completions/adagp\n"
      "zsh:  adagp completion zsh > _adagp, in a folder of $fpath\n"
      "fish: adagp completion fish > ~/.config/fish/completions/adagp.fish\n"
      "man:  adagp completion man train | man -l -");
  command->callback(
      [args, &app, &action] { action = [args, &app] { return run_completion(app, *args); }; });
}

}  // namespace adagp::apps
