// `signalbox completion`: generates completion scripts from the commands themselves, so that the
// two can't diverge.
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <boost/algorithm/string/join.hpp>

#include "tools/cli/commands.h"

namespace signalbox {
namespace {

// The words to offer. `words` is by command path: "", "run", "run list".
struct Offers {
  std::map<std::string, std::string> words;
  std::map<std::string, std::string> values;  // by option, if they are a fixed set
  std::set<std::string> with_value;           // options that take a value
};

void collect_options(ToolCommand command, std::string& words, Offers& offers) {
  for (const ToolCommand::OptionWords& option : command.options()) {
    for (const std::string& word : option.words) {
      words += " " + word;
      if (!option.takes_value) continue;
      offers.with_value.insert(word);
      if (!option.values.empty()) offers.values[word] = boost::algorithm::join(option.values, " ");
    }
  }
}

void collect(ToolCommand command, const std::string& path, const std::string& inherited,
             Offers& offers) {
  std::string own = inherited;
  collect_options(command, own, offers);
  // Every command inherits the options of `signalbox` itself, except --version and --help.
  std::string options = inherited;
  if (path.empty()) {
    options = own.substr(own.find("--version") + std::string("--version").size());
  }
  std::string words;
  for (const ToolCommand& each : command.subcommands()) {
    words += (words.empty() ? "" : " ") + each.name();
    collect(each, path + (path.empty() ? "" : " ") + each.name(), options, offers);
  }
  offers.words[path] = words + own;
}

// Returns the keys as a pattern of `case`: "'run'|'run list'".
std::string pattern(const std::set<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "'" : "|'") + key + "'";
  return text;
}

// Returns the script for bash. It completes nouns, verbs, options, and the values of options with a
// fixed set; files for other values.
std::string bash_completion(ToolCommand app) {
  Offers offers;
  collect(app, "", "", offers);
  std::set<std::string> paths;
  for (const auto& [path, words] : offers.words) {
    if (!path.empty()) paths.insert(path);
  }
  std::string script =
      "# Completion of signalbox for bash. To use it:  source <(signalbox completion bash)\n"
      "_signalbox() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local path='' next words='' index\n"
      "  for ((index = 1; index < COMP_CWORD; ++index)); do\n"
      "    next=\"${path:+$path }${COMP_WORDS[index]}\"\n"
      "    case $next in\n"
      "      " +
      pattern(paths) +
      ") path=$next ;;\n"
      "    esac\n"
      "  done\n"
      "  case $previous in\n";
  for (const auto& [option, values] : offers.values) {
    script += "    '" + option + "') COMPREPLY=($(compgen -W '" + values +
              "' -- \"$current\")); return ;;\n";
    offers.with_value.erase(option);
  }
  script += "    " + pattern(offers.with_value) +
            ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
            "  esac\n"
            "  case $path in\n";
  for (const auto& [path, words] : offers.words) {
    script += "    '" + path + "') words='" + words + "' ;;\n";
  }
  script +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\n"
      "complete -o default -F _signalbox signalbox\n";
  return script;
}

}  // namespace

void add_completion_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("completion", "Print a completion script for the shell");
  // The parser writes to it, so that it must live as long as the command.
  const auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "The shell").required().one_of({"bash"});
  command.footer(
      "Examples:\n"
      "  source <(signalbox completion bash)\n"
      "  signalbox completion bash > /etc/bash_completion.d/signalbox");
  command.action([app, shell, &invocation] {
    return answer(invocation, boost::json::object{{"script", bash_completion(app)}},
                  [](const boost::json::object& result, const Terminal&) {
                    return std::string(result.at("script").as_string());
                  });
  });
}

}  // namespace signalbox
