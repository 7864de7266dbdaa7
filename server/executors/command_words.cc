#include "server/executors/command_words.h"

#include <algorithm>
#include <span>

#include "server/executors/deciding_files.h"

namespace signalbox {
namespace {

// Characters that aren't part of a file's name in a command for a shell.
constexpr std::string_view shell_separators = " \t\r\n'\"`;&|()<>{}[]$=,:\\*?!#~";

// Returns "/lint.sh" for "here/lint.sh", which stands after a `$`.
std::string_view without_variable(std::string_view word) {
  constexpr std::string_view variable =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const std::size_t end = word.find_first_not_of(variable);
  return end != std::string_view::npos && word[end] == '/' ? word.substr(end) : word;
}

// Adds the words of the text, and the text as a whole: the name of a file may have blanks.
void add_words(std::string_view text, std::vector<std::string_view>& words) {
  bool is_variable = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(shell_separators), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (end > 0) words.push_back(is_variable ? without_variable(word) : word);
    is_variable = end < rest.size() && rest[end] == '$';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (text.find_first_of(shell_separators) != std::string_view::npos) words.push_back(text);
}

// Returns the parts of a text for a shell that stand between `&&` and `||`.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find("&&"), text.find("||"));
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 2);
  }
}

// Returns the arguments without the shell that only runs a text: `sh -c`, `bash -eu -c`.
std::span<const std::string> without_shell(std::span<const std::string> command) {
  if (command.empty()) return command;
  const std::string_view program = command.front();
  if (!is_shell(program.substr(program.rfind('/') + 1))) return command;  // npos + 1 is 0
  const auto takes_text = std::find_if(command.begin(), command.end(), [](const auto& argument) {
    return argument.starts_with('-') && !argument.starts_with("--") && argument.ends_with('c');
  });
  if (takes_text == command.end()) return command;
  return command.subspan(static_cast<std::size_t>(takes_text - command.begin()) + 1);
}

}  // namespace

std::vector<std::vector<std::string_view>> words_of_parts(const std::vector<std::string>& command) {
  std::vector<std::vector<std::string_view>> parts;
  const std::span<const std::string> arguments = without_shell(command);
  if (arguments.size() == command.size()) {
    std::vector<std::string_view>& words = parts.emplace_back();
    for (const std::string& argument : arguments) add_words(argument, words);
    return parts;
  }
  for (const std::string& text : arguments) {
    for (const std::string_view part : parts_of(text)) add_words(part, parts.emplace_back());
  }
  return parts;
}

}  // namespace signalbox
