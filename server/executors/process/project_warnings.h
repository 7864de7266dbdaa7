// What the cards of a project will miss, found when the project is put, so that its user hears of
// it then and not from a run that fails at night. Nothing of it keeps a card from being submitted.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/pipeline.h"
#include "domain/project.h"

namespace signalbox {

struct ProjectWarning {
  std::string code;                        // "no_checks"
  std::string text;                        // a sentence for a person
  std::vector<std::string> next_commands;  // what mends it
};
BOOST_DESCRIBE_STRUCT(ProjectWarning, (), (code, text, next_commands))

struct ProjectWarnings {
  std::vector<ProjectWarning> warnings;
  std::vector<std::string> not_checked;  // codes: git gave no answer about these
};
BOOST_DESCRIBE_STRUCT(ProjectWarnings, (), (warnings, not_checked))

// Returns the warnings about a project, whose repository passed check_repository() when it was put
// and may have changed since. `mode` is that of coding agents whose station names none; `scratch`
// is a directory for temporary files. What git fails at is in `not_checked`, for want of time too;
// so is all that needs the repository or the base if that is missing. No
// program of the repository's configuration runs. Blocks on git for at most repository_check_ms_max
// + git_grace_ms_max. Any thread.
ProjectWarnings project_warnings(const Project& project, CoderunnerMode mode,
                                 const std::filesystem::path& scratch);

}  // namespace signalbox
