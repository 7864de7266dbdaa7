// `signalbox help` and `signalbox version`: the same as --help and --version, for those who try
// these words first.
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/man_page.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct HelpOptions {
  std::vector<std::string> words;
  bool man = false;
};

Called<std::string> help_text(CommandLine& line, const HelpOptions& options) {
  if (!options.man) return line.help(options.words);
  if (options.words.empty()) return man_page(line.root(), line.version());
  return tl::unexpected(
      usage_error("--man prints one page of all commands", {"signalbox help --man"}));
}

void add_help(CommandLine& line, Invocation& invocation) {
  ToolCommand command = line.root().add_subcommand("help", "Explain a command, as its --help does");
  const auto options = std::make_shared<HelpOptions>();
  command.add_option("COMMAND", options->words, "The command's words; none: an overview");
  command.add_flag("--man", options->man, "Print the manual page of all commands, for man(1)");
  command.footer(
      "Examples:\n"
      "  signalbox help\n"
      "  signalbox help run list\n"
      "  signalbox help --man > signalbox.1");
  command.action([options, &line, &invocation] {
    const auto text = help_text(line, *options);
    if (!text) return answer(invocation, tl::unexpected(text.error()), {});
    return answer(invocation, json::object{{"help", *text}},
                  [&text](const json::object&, const Terminal&) { return *text; });
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
