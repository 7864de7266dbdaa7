// `signalbox help` and `signalbox version`: the same as --help and --version, for those who try
// these words first.
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void add_help(CommandLine& line, Invocation& invocation) {
  ToolCommand command = line.root().add_subcommand("help", "Explain a command, as its --help does");
  const auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("COMMAND", *words, "The command's words; none: an overview");
  command.footer(
      "Examples:\n"
      "  signalbox help\n"
      "  signalbox help run list");
  command.action([words, &line, &invocation] {
    const auto text = line.help(*words);
    if (!text) return answer(invocation, tl::unexpected(text.error()), {});
    return answer(
        invocation, json::object{{"help", *text}},
        [](const json::object& result, const Terminal&) { return text_at(result, "help"); });
  });
}

void add_version(CommandLine& line, Invocation& invocation) {
  ToolCommand command = line.root().add_subcommand("version", "Print the version of this program");
  command.footer(
      "Examples:\n"
      "  signalbox version\n"
      "  signalbox version --json | jq -r .result.version");
  command.action([&line, &invocation] {
    return answer(invocation, json::object{{"version", line.version()}},
                  [](const json::object& result, const Terminal&) {
                    return text_at(result, "version") + "\n";
                  });
  });
}

}  // namespace

void add_help_commands(CommandLine& line, Invocation& invocation) {
  add_help(line, invocation);
  add_version(line, invocation);
}

}  // namespace signalbox
