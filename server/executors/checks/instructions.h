// The checks that a repository names itself, in one of two forms:
//
//   TOML (.signalbox.toml):   [[checks]]  name = "…"  command = ["…"] or "…"  timeout = "2m"
//                             cleanup = ["…"] or "…", run after it whatever its result
//   Markdown (AGENTS.md, CLAUDE.md): under a heading "Checks" or "Verify", the first fenced block;
//                                    each line is a command, which may end with "# timeout 2m"
//
// A command that is a text goes to `sh -c`: it is the repository's own, as its Makefile is.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "server/executors/checks/check_run.h"

namespace signalbox {

inline constexpr std::size_t instructions_bytes_max = 1024 * 1024;

struct Instructions {
  std::string file;  // where they come from, relative to the workspace
  std::vector<PlannedCheck> checks;
};

// At least one check, or a sentence that says what is wrong or what to add. `file` is relative to
// `workspace`; empty: the first of .signalbox.toml, AGENTS.md and CLAUDE.md that names checks.
tl::expected<Instructions, std::string> read_instructions(const std::filesystem::path& workspace,
                                                          const std::string& file);

// Of a text of each form. None: it has no such section or table. Errors are sentences.
tl::expected<std::vector<PlannedCheck>, std::string> checks_in_toml(std::string_view text);
tl::expected<std::vector<PlannedCheck>, std::string> checks_in_markdown(std::string_view text);

}  // namespace signalbox
