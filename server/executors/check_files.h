// The files that decide how work is checked: instructions, policy, the configuration of CI, and the
// scripts that checks name. Work that changes them changes its own judge, so a person is asked.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/store_error.h"

namespace signalbox {

// Bytes of all names that the checks of one run may name.
inline constexpr std::size_t named_files_bytes_max = 8 * 1024 * 1024;
// Names of changed files in a text or in metadata; the artifact checks_changed.txt has all.
inline constexpr std::size_t changed_files_shown_max = 12;
inline constexpr std::size_t changed_file_shown_bytes_max = 80;

inline constexpr const char* checks_changed_name = "checks_changed.txt";
// Fields of a station's metadata: an array of some names, and the number of all.
inline constexpr const char* checks_changed_field = "checks_changed";
inline constexpr const char* checks_changed_total_field = "checks_changed_total";

// Returns names of what the command may run, as it writes them: its words and those of a text for a
// shell, as names of files; directories, if it runs what is in them; and programs such as `make` or
// `npm`, which do what a file says (deciding_files.h); and the files of what an interpreter runs as
// `-m tools.lint`, or as `tools/lint` without an extension. A name may be relative to a
// subdirectory, and most words are no files at all.
std::set<std::string> files_named_by(const std::vector<std::string>& command);

// Returns names of what a command may run that a file of a check has: of its words only scripts
// count, since recipes name the sources that they compile.
std::set<std::string> scripts_named_by(const std::string& text);
// Returns whether a command has the word.
bool is_word_of(const std::set<std::string>& named, const std::string& word);

// Returns whether one of the names may be that of the file at `path`, or of a program or directory
// that has it run.
bool is_run_by(const std::set<std::string>& named, std::string_view path);

// Returns whether a command runs the file at `path`, such as `. ci/env.txt`, although its name
// isn't that of a script.
bool is_run_as_script(const std::set<std::string>& named, std::string_view path);

// Returns what the names say below the directory at `path`, relative to it; an empty text if it is
// run as a whole.
std::vector<std::string> names_below(const std::set<std::string>& named, std::string_view path);

// A name that says that the checks call more than the names have. No word of a command is it.
inline constexpr const char* unknown_calls_name = "??";

// A symbolic link of a commit.
struct TreeLink {
  std::string path;    // relative to the top
  std::string object;  // whose content is the target
};
using ReadLink = std::function<std::string(const TreeLink& link)>;
// Adds the files that the names mean through the links of a commit. Calls `read_link` for those
// that a name leads through; it returns the target, or an empty text.
void add_targets_of_links(const std::vector<TreeLink>& links, const ReadLink& read_link,
                          std::set<std::string>& named);

// Returns names for the directories below the top that the configuration of git has as those of
// hooks. `programs` is that of a pinned repository (programs_of_config()).
std::set<std::string> hook_directories(const std::vector<std::string>& programs);

// Returns the name under which a pipeline's instructions file counts, whatever its kind: its path
// after a slash, which no other name begins with.
std::string instructions_name(const std::string& file);

// Adds names, in the run's pinned directory, to those that the run's checks named before, for the
// stations that judge what the run changed. Fails with `io`, and adds none, if all of them together
// have more than named_files_bytes_max.
Stored<void> remember_named_files(const std::filesystem::path& pins,
                                  const std::set<std::string>& names);
// Returns them; empty if no checks were run.
Stored<std::set<std::string>> remembered_named_files(const std::filesystem::path& pins);

// A changed file of a commit or a worktree.
struct ChangedFile {
  std::string path;         // relative to the top
  bool executable = false;  // or a symbolic link; before or after the change
  bool submodule = false;   // before or after the change
};

// Parses the output of `git diff --raw -z --no-renames`, and leaves out the directories that `-t`
// adds.
std::vector<ChangedFile> parse_raw_diff(std::string_view output);

// Returns the ids of the directories in the output with `-t`, before and after the change.
std::vector<std::string> changed_trees_of(std::string_view raw_diff);

// Returns those of `changed` that decide about checks, sorted: every file of a kind that does in
// any repository, the instructions, the files of named programs, the scripts in named directories,
// and the named files. A file named `hello.txt` counts only if it can be executed, or if a command
// runs it as `sh hello.txt` does. A link or submodule counts if something below it is named, and a
// submodule also if a program is, whose files it may have. With unknown_calls_name among the names
// possible_check_files_among() count as well.
std::vector<std::string> check_files_among(const std::vector<ChangedFile>& changed,
                                           const std::set<std::string>& named);
// Returns those that may decide about checks whose commands aren't known: also every file that may
// be a script, and every submodule.
std::vector<std::string> possible_check_files_among(const std::vector<ChangedFile>& changed);

// Returns the files as "AGENTS.md, check.sh and 3 more", printable on one line. `total` is the
// number of all, if `files` has only some.
std::string shown_check_files(const std::vector<std::string>& files, std::size_t total = 0);
// Returns the names for metadata: at most changed_files_shown_max, printable and shortened.
std::vector<std::string> listed_check_files(const std::vector<std::string>& files);
// Returns all names for the artifact checks_changed.txt: one a line, printable.
std::string checks_changed_text(const std::vector<std::string>& files);

}  // namespace signalbox
