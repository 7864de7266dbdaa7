#include "server/executors/called_commands.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "server/executors/check_files.h"
#include "server/executors/deciding_files.h"
#include "server/text/json_text.h"

namespace signalbox {
namespace {

using Commands = std::vector<std::string>;

// Takes the next line from `rest`.
std::string_view take_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

Commands commands_of_package(std::string_view text, const std::set<std::string>& named) {
  Commands commands;
  const auto package = parse_json(text);
  if (!package || !package->is_object()) return commands;
  const boost::json::value* const scripts = package->get_object().if_contains("scripts");
  if (scripts == nullptr || !scripts->is_object()) return commands;
  for (const auto& [key, command] : scripts->get_object()) {
    std::string name(key);
    const bool is_called = is_word_of(named, name) ||
                           (name.starts_with("pre") && is_word_of(named, name.substr(3))) ||
                           (name.starts_with("post") && is_word_of(named, name.substr(4)));
    if (is_called && command.is_string()) commands.emplace_back(command.get_string());
  }
  return commands;
}

// A rule's line is "targets: what they need"; its recipe are the lines after it that begin with a
// tab. Returns false for any other line.
bool split_rule(std::string_view line, std::string_view& targets, std::string_view& needed) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.starts_with('#') || line.starts_with('\t')) {
    return false;
  }
  targets = line.substr(0, colon);
  needed = line.substr(colon + 1);
  if (needed.starts_with(':')) needed.remove_prefix(1);
  return !needed.starts_with('=') && targets.find('=') == std::string_view::npos;
}

// Adds commands that stand for those of the files that the line of a Makefile includes. Returns
// whether it does.
bool add_included(std::string_view line, Commands& commands) {
  line.remove_prefix(std::min(line.find_first_not_of(" -s"), line.size()));  // -include, sinclude
  constexpr std::string_view keyword = "include ";
  if (!line.starts_with(keyword)) return false;
  for (std::string_view rest = line.substr(keyword.size()); !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    if (end > 0) commands.push_back(". " + std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

bool has_named_target(std::string_view targets, const std::set<std::string>& named) {
  while (!targets.empty()) {
    const std::size_t end = std::min(targets.find_first_of(" \t"), targets.size());
    if (is_word_of(named, std::string(targets.substr(0, end)))) return true;
    targets.remove_prefix(std::min(end + 1, targets.size()));
  }
  return false;
}

Commands commands_of_makefile(std::string_view text, const std::set<std::string>& named) {
  Commands of_named;
  Commands of_first;
  Commands included;
  Commands* recipe = nullptr;
  bool is_first = true;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_line(rest);
    std::string_view targets;
    std::string_view needed;
    if (add_included(line, included)) {
      recipe = nullptr;
    } else if (split_rule(line, targets, needed)) {
      const bool is_special = targets.starts_with('.');
      recipe = has_named_target(targets, named) ? &of_named
               : is_first && !is_special        ? &of_first
                                                : nullptr;
      is_first = is_first && is_special;
      if (recipe != nullptr) recipe->emplace_back(needed);
    } else if (recipe != nullptr && line.starts_with('\t')) {
      const std::size_t begin = std::min(line.find_first_not_of("\t @-+"), line.size());
      recipe->emplace_back(line.substr(begin));
    }
  }
  Commands& commands = of_named.empty() ? of_first : of_named;
  std::move(included.begin(), included.end(), std::back_inserter(commands));
  return std::move(commands);
}

Commands commands_of_script(std::string_view text) {
  Commands commands;
  if (text.find('\0') != std::string_view::npos) return commands;  // a program
  std::string_view rest = text;
  if (text.starts_with("#!") && take_line(rest).find("sh") == std::string_view::npos) {
    return commands;  // of another language
  }
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::size_t begin = line.find_first_not_of(" \t@-+");  // a Makefile may include it
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    commands.emplace_back(line.substr(begin));
  }
  return commands;
}

bool is_makefile(std::string_view path) { return is_file_of_program("make", path); }
bool is_package(std::string_view path) {
  return path == "package.json" || path.ends_with("/package.json");
}

}  // namespace

bool may_have_commands(std::string_view path) {
  return is_makefile(path) || is_package(path) || has_name_of_shell_script(path);
}

std::vector<std::string> commands_in(std::string_view path, std::string_view text,
                                     const std::set<std::string>& named) {
  if (is_package(path)) return commands_of_package(text, named);
  if (is_makefile(path)) return commands_of_makefile(text, named);
  const bool is_script = has_name_of_shell_script(path) || is_run_as_script(named, path);
  return is_script ? commands_of_script(text) : Commands{};
}

}  // namespace signalbox
