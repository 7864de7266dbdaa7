#include "server/executors/check_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "domain/limits.h"
#include "domain/text_parts.h"
#include "domain/try.h"
#include "server/limits.h"
#include "server/platform/atomic_file.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// What isn't part of a file's name in a command for a shell.
constexpr std::string_view shell_separators = " \t\r\n'\"`;&|()<>{}[]$=,:\\*?!#~";

// Files that decide about checks, or about what agents may do, wherever they lie.
constexpr std::array<std::string_view, 5> deciding_names = {
    ".signalbox.toml", "AGENTS.md", "CLAUDE.md", "HEARTBEAT.md", ".pre-commit-config.yaml"};
// Files of CI services, at the top of a repository.
constexpr std::array<std::string_view, 14> deciding_paths = {
    ".gitlab-ci.yml",  ".travis.yml",   ".drone.yml",      ".cirrus.yml",
    ".woodpecker.yml", ".appveyor.yml", "appveyor.yml",    "azure-pipelines.yml",
    "Jenkinsfile",     "wercker.yml",   "cloudbuild.yaml", "bitbucket-pipelines.yml",
    ".semaphore.yml",  ".build.yml"};
// Directories of CI services and of hooks, at the top of a repository.
constexpr std::array<std::string_view, 16> deciding_directories = {
    ".github/workflows/", ".github/actions/",    ".gitlab/",          ".circleci/",
    ".buildkite/",        ".woodpecker/",        ".drone/",           ".gitea/workflows/",
    ".gitea/actions/",    ".forgejo/workflows/", ".forgejo/actions/", ".semaphore/",
    ".azure-pipelines/",  ".teamcity/",          ".builds/",          ".husky/"};

struct ProgramFile {
  std::string_view program;
  std::string_view file;
};
// Programs that run what a file of the repository says.
constexpr std::array<ProgramFile, 23> program_files = {{{"make", "Makefile"},
                                                        {"make", "makefile"},
                                                        {"make", "GNUmakefile"},
                                                        {"gmake", "Makefile"},
                                                        {"gmake", "makefile"},
                                                        {"gmake", "GNUmakefile"},
                                                        {"npm", "package.json"},
                                                        {"npx", "package.json"},
                                                        {"pnpm", "package.json"},
                                                        {"yarn", "package.json"},
                                                        {"bun", "package.json"},
                                                        {"just", "justfile"},
                                                        {"just", "Justfile"},
                                                        {"just", ".justfile"},
                                                        {"task", "Taskfile.yml"},
                                                        {"task", "Taskfile.yaml"},
                                                        {"tox", "tox.ini"},
                                                        {"nox", "noxfile.py"},
                                                        {"rake", "Rakefile"},
                                                        {"invoke", "tasks.py"},
                                                        {"composer", "composer.json"},
                                                        {"ant", "build.xml"},
                                                        {"pre-commit", ".pre-commit-config.yaml"}}};

constexpr std::array<std::string_view, 20> script_extensions = {
    ".sh",  ".bash", ".zsh", ".fish", ".ksh", ".py",  ".rb",  ".pl",  ".js",  ".mjs",
    ".cjs", ".ts",   ".php", ".lua",  ".ps1", ".bat", ".cmd", ".awk", ".tcl", ".R"};

template <class Texts>
bool has(const Texts& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool decides_anywhere(std::string_view path) {
  if (has(deciding_names, last_name(path)) || has(deciding_paths, path)) return true;
  return std::any_of(deciding_directories.begin(), deciding_directories.end(),
                     [path](std::string_view directory) { return path.starts_with(directory); });
}

// A file that a check names may be data that it looks at: a name with another extension isn't that
// of a script. A name without one may be.
bool may_be_script(const ChangedFile& file) {
  if (file.executable) return true;
  const std::string_view name = last_name(file.path);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return true;
  return has(script_extensions, name.substr(dot));
}

bool says_what_program_does(std::string_view path) {
  const std::string_view name = last_name(path);
  return std::any_of(program_files.begin(), program_files.end(),
                     [name](const ProgramFile& each) { return each.file == name; });
}

// Returns whether the path, or its end from any directory on, is one of the names.
bool is_named(std::string_view path, const std::set<std::string>& named) {
  for (std::string_view rest = path;;) {
    if (named.contains(std::string(rest))) return true;
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return false;
    rest.remove_prefix(slash + 1);
  }
}

// Adds the word as the name of a file below the top, such as "tools/check" for "./tools/check".
void add_name(std::string_view word, std::set<std::string>& names) {
  while (word.starts_with('/') || word.starts_with("./")) word.remove_prefix(1);
  if (word.empty() || word.size() > limits::path_bytes_max) return;
  std::string name = fs::path(word).lexically_normal().string();
  while (name.starts_with("../")) name.erase(0, 3);
  if (name.empty() || name == "." || name == ".." || name.ends_with('/')) return;
  for (const ProgramFile& each : program_files) {
    if (each.program == last_name(name)) names.emplace(each.file);
  }
  names.insert(std::move(name));
}

fs::path names_file(const fs::path& pins) { return pins / "named_by_checks"; }

}  // namespace

std::set<std::string> files_named_by(const std::vector<std::string>& command) {
  std::set<std::string> names;
  for (const std::string& argument : command) {
    add_name(argument, names);
    std::string_view rest = argument;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(shell_separators), rest.size());
      add_name(rest.substr(0, end), names);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
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

// ":100644 100755 1c2… 9f0… M\0check.sh\0"
std::vector<ChangedFile> parse_raw_diff(std::string_view output) {
  constexpr std::string_view executable_mode = "100755";
  std::vector<ChangedFile> files;
  while (!output.empty()) {
    const std::string_view facts = take_until(output, '\0');
    const std::string_view path = take_until(output, '\0');
    if (path.empty()) continue;
    const bool executable = facts.size() > 14 && (facts.substr(1, 6) == executable_mode ||
                                                  facts.substr(8, 6) == executable_mode);
    files.push_back({std::string(path), executable});
  }
  return files;
}

std::vector<std::string> check_files_among(const std::vector<ChangedFile>& changed,
                                           const std::set<std::string>& named) {
  std::set<std::string> found;
  for (const ChangedFile& file : changed) {
    const bool is_script =
        is_named(file.path, named) && (may_be_script(file) || says_what_program_does(file.path));
    const bool is_instructions = named.contains("/" + file.path);
    if (is_script || is_instructions || decides_anywhere(file.path)) found.insert(file.path);
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
