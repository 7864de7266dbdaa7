#include "server/executors/checks/instructions.h"

#include <algorithm>

#include <toml++/toml.h>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "server/text/time_text.h"
#include "server/text/toml_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

using Checks = tl::expected<std::vector<PlannedCheck>, std::string>;

constexpr std::size_t check_name_bytes_max = 64;
constexpr const char* what_to_add =
    "name them in the pipeline ([[station.checks]]), in .signalbox.toml ([[checks]] with name and "
    "command), or in a fenced block under a heading \"Checks\" of AGENTS.md or CLAUDE.md";

// Adds a check under a unique name, because failures are reported by name.
tl::expected<void, std::string> add(PlannedCheck check, std::vector<PlannedCheck>& checks) {
  if (checks.size() == limits::checks_max) {
    return tl::unexpected("there are more than " + std::to_string(limits::checks_max) + " checks");
  }
  check.name = std::string(utf8_prefix(check.name, check_name_bytes_max));
  const std::string wanted = check.name;
  const auto is_taken = [&checks](const std::string& name) {
    return std::any_of(checks.begin(), checks.end(),
                       [&name](const PlannedCheck& other) { return other.name == name; });
  };
  for (int number = 2; is_taken(check.name); ++number) {
    const std::string suffix = " (" + std::to_string(number) + ")";
    check.name = std::string(utf8_prefix(wanted, check_name_bytes_max - suffix.size())) + suffix;
  }
  checks.push_back(std::move(check));
  return {};
}

tl::expected<std::int64_t, std::string> timeout_of(std::string_view text) {
  const auto timeout_ms = parse_duration_ms(text);
  if (timeout_ms && *timeout_ms >= 1 && *timeout_ms <= limits::timeout_ms_max) return *timeout_ms;
  return tl::unexpected("a check's timeout must be a duration such as \"2m\", not " +
                        std::string(text));
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Returns the argv under `key`: a text is a command for the shell, an array is an argv.
tl::expected<std::vector<std::string>, std::string> command_in(const toml::table& table,
                                                               const std::string& key) {
  std::vector<std::string> command;
  if (const auto text = table[key].value_exact<std::string>()) {
    command = {"sh", "-c", *text};
  } else if (const toml::array* words = table[key].as_array()) {
    for (const toml::node& word : *words) {
      const auto argument = word.value_exact<std::string>();
      if (!argument) return tl::unexpected(key + " must be texts");
      command.push_back(*argument);
    }
  }
  if (command.empty() || command.front().empty()) {
    return tl::unexpected(key + " must be a text or an array of texts");
  }
  return command;
}

Checks check_from(const toml::table& table, std::vector<PlannedCheck> checks) {
  PlannedCheck check;
  const std::string line = "line " + std::to_string(table.source().begin.line) + ": ";
  auto command = command_in(table, "command");
  if (!command) return tl::unexpected(line + command.error());
  check.command = std::move(*command);
  const bool is_shell = table["command"].is_string();
  check.name = is_shell ? check.command.back() : join(check.command);
  if (table.contains("cleanup")) {
    auto cleanup = command_in(table, "cleanup");
    if (!cleanup) return tl::unexpected(line + cleanup.error());
    check.cleanup = std::move(*cleanup);
  }
  if (const auto name = table["name"].value_exact<std::string>()) check.name = *name;
  if (check.name.empty()) return tl::unexpected(line + "name must not be empty");
  if (table.contains("timeout")) {
    const auto timeout_ms = timeout_of(table["timeout"].value_or(std::string("?")));
    if (!timeout_ms) return tl::unexpected(line + timeout_ms.error());
    check.timeout_ms = *timeout_ms;
  }
  TRY(add(std::move(check), checks));
  return checks;
}

// Returns the text of a heading ("#", "##", …) in lower case; empty if the line is no heading.
std::string heading_of(std::string_view line) {
  const std::size_t level = std::min(line.find_first_not_of('#'), line.size());
  if (level == 0 || level > 6) return {};
  std::string_view text = trimmed(line.substr(level));
  while (!text.empty() && (text.back() == '#' || text.back() == ':')) text.remove_suffix(1);
  return lower_case(trimmed(text));
}

bool is_fence(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with("```") || text.starts_with("~~~");
}

tl::expected<PlannedCheck, std::string> check_of_line(std::string_view line) {
  PlannedCheck check;
  if (line.starts_with("$ ")) line = trimmed(line.substr(2));
  if (const std::size_t note = line.rfind("# timeout"); note != std::string_view::npos) {
    std::string_view duration = trimmed(line.substr(note + std::string_view("# timeout").size()));
    if (duration.starts_with(':')) duration = trimmed(duration.substr(1));
    const auto timeout_ms = TRY(timeout_of(duration));
    check.timeout_ms = timeout_ms;
    line = trimmed(line.substr(0, note));
  }
  check.name = std::string(line);
  check.command = {"sh", "-c", std::string(line)};
  return check;
}

// Takes the next line from `rest`; returns false at the end of the text.
bool next_line(std::string_view& rest, std::string_view& line) {
  if (rest.empty()) return false;
  const std::size_t end = rest.find('\n');
  line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return true;
}

// Reads a fenced block; `rest` begins after the opening fence.
Checks checks_of_block(std::string_view rest) {
  std::vector<PlannedCheck> checks;
  std::string command;
  for (std::string_view line; next_line(rest, line) && !is_fence(line);) {
    std::string_view text = trimmed(line);
    if (command.empty() && (text.empty() || text.starts_with('#'))) continue;
    const bool continues = text.ends_with('\\');
    if (continues) text = trimmed(text.substr(0, text.size() - 1));
    command += (command.empty() ? "" : " ") + std::string(text);
    if (continues) continue;
    auto check = TRY(check_of_line(command));
    TRY(add(std::move(check), checks));
    command.clear();
  }
  return checks;
}

Checks checks_in_file(const FileReading& read, const std::string& file, bool required) {
  const auto content = read(file);
  if (!content) return tl::unexpected(file + " can't be read: " + content.error());
  if (!*content && required) return tl::unexpected("there is no file " + file);
  if (!*content) return std::vector<PlannedCheck>{};
  const std::string& text = **content;
  if (!is_utf8(text)) return tl::unexpected(file + " is not UTF-8");
  auto checks = file.ends_with(".toml") ? checks_in_toml(text) : checks_in_markdown(text);
  if (!checks) return tl::unexpected(file + ": " + checks.error());
  return checks;
}

}  // namespace

Checks checks_in_toml(std::string_view text) {
  std::vector<PlannedCheck> checks;
  const auto root = parse_toml(text);
  if (!root) {
    return tl::unexpected("line " + std::to_string(root.error().line) + ": " +
                          root.error().message);
  }
  const toml::array* tables = (*root)["checks"].as_array();
  if (tables == nullptr) return checks;
  for (const toml::node& node : *tables) {
    if (!node.is_table()) return tl::unexpected(std::string("checks must be [[checks]] tables"));
    auto more = check_from(*node.as_table(), std::move(checks));
    if (!more) return more;
    checks = std::move(*more);
  }
  return checks;
}

Checks checks_in_markdown(std::string_view text) {
  bool inside_section = false;
  bool inside_other_block = false;
  std::string_view rest = text;
  for (std::string_view line; next_line(rest, line);) {
    if (is_fence(line)) {
      if (inside_section && !inside_other_block) return checks_of_block(rest);
      inside_other_block = !inside_other_block;
    } else if (!inside_other_block) {
      if (const std::string heading = heading_of(line); !heading.empty()) {
        inside_section = heading == "checks" || heading == "verify";
      }
    }
  }
  return std::vector<PlannedCheck>{};
}

tl::expected<std::optional<std::string>, std::string> read_in_directory(const fs::path& directory,
                                                                        const std::string& file) {
  auto text = read_regular_file(directory / file, instructions_bytes_max);
  if (text) return std::optional<std::string>(std::move(*text));
  if (text.error().kind == StoreError::Kind::not_found) return std::optional<std::string>();
  return tl::unexpected(text.error().message);
}

tl::expected<Instructions, std::string> read_instructions(const FileReading& read,
                                                          const std::string& file) {
  if (!file.empty()) {
    const fs::path path = fs::path(file).lexically_normal();
    if (path.is_absolute() || *path.begin() == "..") {
      return tl::unexpected("instructions must be a file in the repository, not " + file);
    }
    auto checks = TRY(checks_in_file(read, path.string(), true));
    if (checks.empty()) return tl::unexpected(file + " names no checks; " + what_to_add);
    return Instructions{path.string(), std::move(checks)};
  }
  for (const char* default_file : {".signalbox.toml", "AGENTS.md", "CLAUDE.md"}) {
    auto checks = TRY(checks_in_file(read, default_file, false));
    if (!checks.empty()) return Instructions{default_file, std::move(checks)};
  }
  return tl::unexpected(std::string("there are no checks to run; ") + what_to_add);
}

}  // namespace signalbox
