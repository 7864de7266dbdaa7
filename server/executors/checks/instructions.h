// Reads the checks that a repository names itself, in one of two forms:
//
//   TOML (.signalbox.toml):   [[checks]]  name = "…"  command = ["…"] or "…"  timeout = "2m"
//                             cleanup = ["…"] or "…", run after the check whatever its result
//   Markdown (AGENTS.md, CLAUDE.md): under a heading "Checks" or "Verify", the first fenced block;
//                                    each line is a command, which may end with "# timeout 2m"
//
// A command that is a text is run by `sh -c`: it is as trusted as the repository's Makefile.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "server/executors/checks/check_run.h"

namespace signalbox {

inline constexpr std::size_t instructions_bytes_max = 1024 * 1024;

struct Instructions {
  std::string file;  // the file that names them, relative to the top
  std::vector<PlannedCheck> checks;
};

// Reads a file of at most instructions_bytes_max bytes below the top; nullopt: there is none.
// Error: a sentence.
using FileReading =
    std::function<tl::expected<std::optional<std::string>, std::string>(const std::string& file)>;

// A FileReading of what lies in a directory, without following a symbolic link at `file`. Blocks on
// the disk.
tl::expected<std::optional<std::string>, std::string> read_in_directory(
    const std::filesystem::path& directory, const std::string& file);

// Returns at least one check. If `file` is empty, the first of .signalbox.toml, AGENTS.md and
// CLAUDE.md that names checks is used. Error: a sentence that says what is wrong or what to add.
// Blocks as `read` does.
tl::expected<Instructions, std::string> read_instructions(const FileReading& read,
                                                          const std::string& file);

// Parse a text of each form. The list is empty if the text has no such section or table. Error: a
// sentence.
tl::expected<std::vector<PlannedCheck>, std::string> checks_in_toml(std::string_view text);
tl::expected<std::vector<PlannedCheck>, std::string> checks_in_markdown(std::string_view text);

}  // namespace signalbox
