#include "tools/commands/completion.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/cli/commands.h"

namespace signalbox {
namespace {

// All that is offered, by the words of the command so far: "", "run", "run list".
struct Offers {
  std::map<std::string, std::string> words;
  std::map<std::string, std::string> values;  // by option, where they are a fixed set
  std::set<std::string> with_value;           // options that take one
};

// "TEXT:{queued,running}" → "queued running"; empty where the values aren't a fixed set.
std::string fixed_values(const std::string& type_name) {
  const auto open = type_name.find('{');
  const auto close = type_name.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  std::string values = type_name.substr(open + 1, close - open - 1);
  for (char& each : values) each = each == ',' ? ' ' : each;
  return values;
}

void collect_options(const CLI::App& command, std::string& words, Offers& offers) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::string word = "--" + name;
      words += " " + word;
      if (option->get_items_expected_max() == 0) continue;
      offers.with_value.insert(word);
      const std::string values = fixed_values(option->get_type_name());
      if (!values.empty()) offers.values[word] = values;
    }
  }
}

void collect(const CLI::App& command, const std::string& path, const std::string& inherited,
             Offers& offers) {
  std::string own = inherited;
  collect_options(command, own, offers);
  // Those of `signalbox` itself are for every command, but for its --version and --help.
  std::string options = inherited;
  if (command.get_parent() == nullptr) {
    options = own.substr(own.find("--version") + std::string("--version").size());
  }
  std::string words;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    words += (words.empty() ? "" : " ") + each->get_name();
    collect(*each, path + (path.empty() ? "" : " ") + each->get_name(), options, offers);
  }
  offers.words[path] = words + own;
}

// "'run'|'run list'" of the keys, for a pattern of `case`.
std::string pattern(const std::set<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "'" : "|'") + key + "'";
  return text;
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
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

void add_completion_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("completion", "A completion script for the shell");
  // Read while the words are parsed: it lives as long as the command does.
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "Which one")->required()->check(CLI::IsMember({"bash"}));
  command->footer(
      "Examples:\n"
      "  source <(signalbox completion bash)\n"
      "  signalbox completion bash > /etc/bash_completion.d/signalbox");
  command->callback([shell, &app, &invocation] {
    invocation.action = [&app, &invocation] {
      return answer(invocation, boost::json::object{{"script", bash_completion(app)}},
                    [](const boost::json::object& result, const Terminal&) {
                      return std::string(result.at("script").as_string());
                    });
    };
  });
}

}  // namespace signalbox
