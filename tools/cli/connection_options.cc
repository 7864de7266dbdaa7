#include "tools/cli/connection_options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tools/cli/typed_command.h"

namespace signalbox {
namespace {

constexpr std::string_view program = "signalbox ";

// A command that is carried out where it is typed, by its first words.
struct LocalCommand {
  std::string_view words;
  bool takes_data = true;     // it reads or writes the data directory
  bool takes_socket = false;  // and serves at this socket, or asks the service at it
};
constexpr std::array local_commands = {
    LocalCommand{"serve", true, true},
    LocalCommand{"audit redact", true, true},
    LocalCommand{"access issue", true, true},  // for somebody who may do less than that, elsewhere
    LocalCommand{"audit checkpoint"},
    LocalCommand{"audit prove"},
    LocalCommand{"audit export"},
    LocalCommand{"audit retain"},
    LocalCommand{"audit verify", false},
    LocalCommand{"audit keygen", false},
    LocalCommand{"replay"},
    LocalCommand{"diff"},
    LocalCommand{"backup"},
    LocalCommand{"cell seed"},
    LocalCommand{"cell repair"},
    LocalCommand{"run export"},
    LocalCommand{"bench", false},
    LocalCommand{"fence", false},
    LocalCommand{"help", false},
    LocalCommand{"completion", false},
    LocalCommand{"version", false}};

// Returns whether the command has one of the words outside of quotes, alone or with "=value".
bool has_word(std::string_view command, std::initializer_list<std::string_view> words) {
  std::string bare;
  bool is_quoted = false;
  for (const char each : command) {
    if (each == '\'') is_quoted = !is_quoted;
    bare += is_quoted ? '\'' : each;
  }
  bare += ' ';
  return std::any_of(words.begin(), words.end(), [&bare](std::string_view word) {
    const std::string option = " " + std::string(word);
    return bare.find(option + " ") != std::string::npos ||
           bare.find(option + "=") != std::string::npos;
  });
}

// Returns the options for a command, which is without the program's name, each with a space behind.
std::string options_for(std::string_view command, const ConnectionOptions& typed) {
  if (has_word(command, {"--help", "--data", "--socket", "--server"})) return {};
  const auto* const local = std::ranges::find_if(local_commands, [&](const LocalCommand& each) {
    return (std::string(command) + " ").starts_with(std::string(each.words) + " ");
  });
  const bool is_local = local != local_commands.end();
  std::vector<std::string> words;
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  if (!is_local || local->takes_data) add("--data", typed.data);
  if (!is_local || local->takes_socket) add("--socket", typed.socket);
  if (!is_local) {
    add("--server", typed.server);
    add("--ca", typed.ca);
    add("--token-file", typed.token_file);
  }
  return words.empty() ? std::string() : pasted_words(words) + " ";
}

bool begins_command(std::string_view text, std::size_t at) {
  const std::size_t next = at + program.size();
  if (next >= text.size() || text[next] < 'a' || text[next] > 'z') return false;
  const std::string_view before = text.substr(0, at);
  return before.empty() || before.ends_with('`') || before.ends_with(": ");
}

}  // namespace

std::string with_connection(std::string text, const ConnectionOptions& typed) {
  for (std::size_t at = text.find(program); at != std::string::npos;
       at = text.find(program, at + program.size())) {
    if (!begins_command(text, at)) continue;
    const std::size_t begin = at + program.size();
    const std::size_t end = std::min(text.find('`', begin), text.size());
    text.insert(begin, options_for(std::string_view(text).substr(begin, end - begin), typed));
  }
  return text;
}

}  // namespace signalbox
