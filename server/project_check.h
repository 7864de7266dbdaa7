// What `project.check` says of a project: what its cards will miss, and the lines of its policy's
// file that aren't in force. It is beside the rooms because it asks two of them.
#pragma once

#include <filesystem>
#include <functional>

#include <boost/json/object.hpp>

#include "domain/pipeline.h"
#include "domain/project.h"

namespace signalbox {

// Returns a function that returns project_warnings() of a project as JSON, with a warning
// `policy_refused` if its HEARTBEAT.md is refused, and one `policy_ignored` for each line that is
// read as no setting although it looks like one, up to policy_warnings_max. `policy` is in
// `not_checked` if the file couldn't be read. It blocks as that does, for no longer; any thread.
std::function<boost::json::object(const Project& project)> project_check(
    CoderunnerMode mode, const std::filesystem::path& scratch);

}  // namespace signalbox
