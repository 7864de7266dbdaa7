#include "server/executors/check_files.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "domain/limits.h"
#include "domain/text_parts.h"
#include "domain/try.h"
#include "server/executors/command_words.h"
#include "server/executors/deciding_files.h"
#include "server/limits.h"
#include "server/platform/atomic_file.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// How many links, one to the next, may lead from a name to its file.
constexpr int links_followed_max = 8;

// No word of a command has these: `:` after the name of a program of the table in deciding_files.h,
// `/` before the name of a file that counts whatever its kind, `/` after that of a directory whose
// scripts count, and `?` after that of a file that counts only as a script.
constexpr char program_mark = ':';
constexpr char any_kind_mark = '/';
constexpr char directory_mark = '/';
constexpr char script_mark = '?';

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Calls `visit` with the path and with its end from each directory on ("a/b", then "b"), until it
// returns true. Returns whether it did.
template <class Visit>
bool any_end(std::string_view path, Visit&& visit) {
  for (;;) {
    if (visit(path)) return true;
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

// Returns whether the path, or its end from any directory on, is one of the names.
bool is_named(std::string_view path, const std::set<std::string>& named) {
  return any_end(path, [&](std::string_view end) { return named.contains(std::string(end)); });
}

bool is_named_for_any_kind(std::string_view path, const std::set<std::string>& named) {
  return any_end(
      path, [&](std::string_view end) { return named.contains(any_kind_mark + std::string(end)); });
}

bool is_named_as_script(std::string_view path, const std::set<std::string>& named) {
  return any_end(
      path, [&](std::string_view end) { return named.contains(std::string(end) + script_mark); });
}

bool is_in_named_directory(std::string_view path, const std::set<std::string>& named) {
  return any_end(path, [&](std::string_view end) {
    for (std::size_t slash = end.find('/'); slash != std::string_view::npos;
         slash = end.find('/', slash + 1)) {
      if (named.contains(std::string(end.substr(0, slash + 1)))) return true;
    }
    return false;
  });
}

bool is_file_of_named_program(std::string_view path, const std::set<std::string>& named) {
  return std::any_of(named.begin(), named.end(), [path](const std::string& name) {
    return name.ends_with(program_mark) &&
           is_file_of_program(std::string_view(name).substr(0, name.size() - 1), path);
  });
}

// Returns whether the file may decide about checks whose commands aren't known.
bool may_decide(const ChangedFile& file) {
  return file.executable || file.submodule || has_name_of_script(file.path) ||
         decides_everywhere(file.path) || is_file_of_program({}, file.path);
}

// Returns the word as the name of a file below the top, such as "tools/check" for "./tools/check"
// and "tools" for "tools/"; empty if it can't be one.
std::string name_below_top(std::string_view word) {
  while (word.starts_with('/') || word.starts_with("./")) word.remove_prefix(1);
  if (word.empty() || word.size() > limits::path_bytes_max) return {};
  std::string name = fs::path(word).lexically_normal().string();
  while (name.starts_with("../")) name.erase(0, 3);
  while (name.ends_with('/')) name.pop_back();
  return name == "." || name == ".." ? std::string() : name;
}

// Adds what the names mean if the file at `path` is a link to `target_of()`: the target for a name
// of the link, and what lies below the target for a name below the link.
template <class TargetOf>
void add_targets(const std::string& path, TargetOf&& target_of, std::set<std::string>& named) {
  std::vector<std::pair<std::string, std::string>> ends;  // before and after the link's name
  any_end(path, [&](std::string_view end) {
    for (const char* mark : {"", "/"}) {
      const std::string name = mark + std::string(end);
      if (named.contains(name)) ends.emplace_back(mark, "");
      if (named.contains(name + script_mark)) ends.emplace_back(mark, std::string(1, script_mark));
      const std::string below = name + '/';
      for (auto each = named.lower_bound(below); each != named.end() && each->starts_with(below);
           ++each) {
        ends.emplace_back(mark, each->substr(name.size()));
      }
    }
    return false;
  });
  if (ends.empty()) return;
  std::string target = (fs::path(path).parent_path() / target_of()).lexically_normal().string();
  while (target.ends_with('/')) target.pop_back();
  if (target.empty() || target.starts_with("..") || target.starts_with('/')) return;  // outside
  for (const auto& [mark, rest] : ends) named.insert(mark + target + rest);
}

// Returns whether the facts of a raw diff are those of a directory, before or after the change.
bool is_tree(std::string_view facts) {
  constexpr std::string_view mode = "040000";
  return facts.size() > 14 && (facts.substr(1, 6) == mode || facts.substr(8, 6) == mode);
}

// Adds the files that an interpreter takes for the name of a program without an extension.
void add_programs(const std::string& name, std::set<std::string>& names) {
  if (name.starts_with('-') || last_name(name).find('.') != std::string_view::npos) return;
  for (const char* rest : {".js", "/index.js", "/__main__.py"}) {
    names.insert(any_kind_mark + name + rest);
  }
}

// Adds the files of a module of Python, such as "tools.lint", and of the packages that it is in.
void add_modules(std::string name, std::set<std::string>& names) {
  std::replace(name.begin(), name.end(), '.', '/');
  for (const char* rest : {".py", "/__main__.py"}) names.insert(any_kind_mark + name + rest);
  for (std::size_t end = name.find('/');; end = name.find('/', end + 1)) {
    names.insert(any_kind_mark + name.substr(0, end) + "/__init__.py");
    if (end == std::string::npos) return;
  }
}

// Adds what the words of a command name.
void add_names(const std::vector<std::string_view>& words, std::set<std::string>& names) {
  const bool whole_directories = std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return runs_directories(last_name(word));
  });
  bool is_run = false;  // by the word before, whatever the file's name
  bool is_module = false;
  for (const std::string_view word : words) {
    const std::string name = name_below_top(word);
    const bool runs_next = runs_files(last_name(word)) || (is_run && word.starts_with('-'));
    if (!name.empty()) {
      if (is_run) {
        names.insert(any_kind_mark + name);
        add_programs(name, names);
      }
      if (is_module) add_modules(name, names);
      if (whole_directories) names.insert(name + directory_mark);
      const std::string program(last_name(name));
      if (is_known_program(program)) names.insert(program + program_mark);
      names.insert(name);
    }
    is_module = is_run && word == "-m";
    is_run = runs_next;
  }
}

fs::path names_file(const fs::path& pins) { return pins / "named_by_checks"; }

}  // namespace

std::set<std::string> files_named_by(const std::vector<std::string>& command) {
  std::set<std::string> names;
  const auto parts = words_of_parts(command);
  for (const std::vector<std::string_view>& words : parts) add_names(words, names);
  return names;
}

std::set<std::string> scripts_named_by(const std::string& text) {
  std::set<std::string> names;
  for (const std::string& name : files_named_by({"sh", "-c", text})) {
    const bool is_marked = name.starts_with(any_kind_mark) || name.ends_with(program_mark) ||
                           name.ends_with(directory_mark);
    names.insert(is_marked ? name : name + script_mark);
  }
  return names;
}

bool is_word_of(const std::set<std::string>& named, const std::string& word) {
  return named.contains(word) || named.contains(word + script_mark);
}

bool is_run_by(const std::set<std::string>& named, std::string_view path) {
  return is_named(path, named) || is_named_for_any_kind(path, named) ||
         (has_name_of_script(path) &&
          (is_in_named_directory(path, named) || is_named_as_script(path, named))) ||
         is_file_of_named_program(path, named);
}

bool is_run_as_script(const std::set<std::string>& named, std::string_view path) {
  return !has_name_of_script(path) && is_named_for_any_kind(path, named);
}

std::vector<std::string> names_below(const std::set<std::string>& named, std::string_view path) {
  std::vector<std::string> found;
  any_end(path, [&](std::string_view end) {
    for (const char* mark : {"", "/"}) {
      const std::string below = mark + std::string(end) + '/';
      for (auto each = named.lower_bound(below); each != named.end() && each->starts_with(below);
           ++each) {
        found.push_back(each->substr(below.size()));
        if (found.back().ends_with(script_mark)) found.back().pop_back();
      }
    }
    return false;
  });
  return found;
}

void add_targets_of_links(const std::vector<TreeLink>& links, const ReadLink& read_link,
                          std::set<std::string>& named) {
  for (int round = 0; round < links_followed_max; ++round) {
    const std::size_t before = named.size();
    for (const TreeLink& link : links) {
      add_targets(
          link.path, [&] { return read_link(link); }, named);
    }
    if (named.size() == before) return;
  }
}

std::set<std::string> hook_directories(const std::vector<std::string>& programs) {
  constexpr std::string_view key = "core.hookspath\n";
  std::set<std::string> names;
  for (const std::string& entry : programs) {
    if (!entry.starts_with(key) || entry.substr(key.size()).starts_with('/')) continue;
    const std::string name = name_below_top(std::string_view(entry).substr(key.size()));
    if (!name.empty()) names.insert(name + directory_mark);
  }
  return names;
}

std::string instructions_name(const std::string& file) {
  return "/" + fs::path(file).lexically_normal().string();
}

Stored<void> remember_named_files(const fs::path& pins, const std::set<std::string>& names) {
  auto all = TRY(remembered_named_files(pins));
  all.insert(names.begin(), names.end());
  std::string text;
  for (const std::string& name : all) text.append(name).push_back('\0');
  if (text.size() > named_files_bytes_max) {
    return store_failure(StoreError::Kind::io,
                         "the run's checks, with the scripts that they call, have more than " +
                             std::to_string(named_files_bytes_max) +
                             " bytes of words that may name files: let them call fewer scripts");
  }
  return write_file_atomically(names_file(pins), text);
}

Stored<std::set<std::string>> remembered_named_files(const fs::path& pins) {
  std::set<std::string> names;
  const auto text = read_regular_file(names_file(pins), named_files_bytes_max);
  if (!text) {
    if (text.error().kind == StoreError::Kind::not_found) return names;
    return tl::unexpected(text.error());
  }
  std::string_view rest = *text;
  while (!rest.empty()) {
    names.emplace(take_until(rest, '\0'));
  }
  return names;
}

std::vector<std::string> changed_trees_of(std::string_view raw_diff) {
  std::vector<std::string> trees;
  // ":040000 040000 1c2… 9f0… M\0tools\0"
  for (std::size_t colon = 0; colon < raw_diff.size();) {
    const std::string_view facts = raw_diff.substr(colon, raw_diff.find('\0', colon) - colon);
    const std::size_t path = std::min(colon + facts.size() + 1, raw_diff.size());
    const std::size_t end = std::min(raw_diff.find('\0', path), raw_diff.size() - 1);
    colon = end + 1;
    if (!is_tree(facts)) continue;
    constexpr std::size_t objects_at = 15;
    const std::string_view objects = facts.substr(std::min(objects_at, facts.size()));
    const std::size_t blank = objects.find(' ');
    if (blank == std::string_view::npos) continue;
    const std::string_view after = objects.substr(blank + 1);
    for (const std::string_view object :
         {objects.substr(0, blank), after.substr(0, after.find(' '))}) {
      if (object.find_first_not_of('0') != std::string_view::npos) trees.emplace_back(object);
    }
  }
  return trees;
}

// ":100644 100755 1c2… 9f0… M\0check.sh\0"
std::vector<ChangedFile> parse_raw_diff(std::string_view output) {
  const auto may_be_run = [](std::string_view mode) {
    return mode == "100755" || mode == "120000";
  };
  constexpr std::string_view submodule_mode = "160000";
  std::vector<ChangedFile> files;
  while (!output.empty()) {
    const std::string_view facts = take_until(output, '\0');
    const std::string_view path = take_until(output, '\0');
    if (path.empty() || is_tree(facts)) continue;
    ChangedFile& file = files.emplace_back();
    file.path = path;
    if (facts.size() <= 14) continue;
    const std::string_view before = facts.substr(1, 6);
    const std::string_view after = facts.substr(8, 6);
    file.executable = may_be_run(before) || may_be_run(after);
    file.submodule = before == submodule_mode || after == submodule_mode;
  }
  return files;
}

std::vector<std::string> check_files_among(const std::vector<ChangedFile>& changed,
                                           const std::set<std::string>& named) {
  const bool are_calls_known = !named.contains(unknown_calls_name);
  const bool is_program_named =
      std::any_of(named.begin(), named.end(),
                  [](const std::string& name) { return name.ends_with(program_mark); });
  std::set<std::string> found;
  for (const ChangedFile& file : changed) {
    const bool is_place = file.executable || file.submodule;  // a link is executable
    const bool is_script = is_place || has_name_of_script(file.path);
    const bool may_be_run = is_place || !has_name_of_data(file.path);
    if (decides_everywhere(file.path) || is_named_for_any_kind(file.path, named) ||
        (may_be_run && is_named(file.path, named)) ||
        (is_script &&
         (is_in_named_directory(file.path, named) || is_named_as_script(file.path, named))) ||
        is_file_of_named_program(file.path, named) ||
        (is_place && !names_below(named, file.path).empty()) ||
        (file.submodule && is_program_named) || (!are_calls_known && may_decide(file))) {
      found.insert(file.path);
    }
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> possible_check_files_among(const std::vector<ChangedFile>& changed) {
  std::set<std::string> found;
  for (const ChangedFile& file : changed) {
    if (may_decide(file)) found.insert(file.path);
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> listed_check_files(const std::vector<std::string>& files) {
  std::vector<std::string> listed;
  for (std::size_t index = 0; index < std::min(files.size(), changed_files_shown_max); ++index) {
    const std::string name = printable(files[index]);
    const std::string_view end = utf8_suffix(name, changed_file_shown_bytes_max);
    listed.push_back((end.size() < name.size() ? "…" : "") + std::string(end));
  }
  return listed;
}

std::string shown_check_files(const std::vector<std::string>& files, std::size_t total) {
  const std::vector<std::string> listed = listed_check_files(files);
  total = std::max(total, files.size());
  std::string text;
  for (std::size_t index = 0; index < listed.size(); ++index) {
    const bool is_last = index + 1 == total;
    text += (index == 0 ? "" : is_last ? " and " : ", ") + listed[index];
  }
  if (total > listed.size()) {
    text += " and " + std::to_string(total - listed.size()) + " more";
  }
  return text;
}

std::string checks_changed_text(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += printable(file) + "\n";
  return shortened(text, limits::left_out_bytes_max);
}

}  // namespace signalbox
