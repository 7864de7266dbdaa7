#include "tools/audit/remaining_file.h"

#include <optional>
#include <string>

#include <boost/json/array.hpp>

#include "domain/ids.h"
#include "tools/cli/call_error.h"

namespace signalbox {
namespace {

// Says why a file isn't to be removed; nullopt: it may be.
std::optional<std::string> why_file_stays(const std::filesystem::path& file,
                                          const std::filesystem::path& data,
                                          const JobsOfRuns& jobs) {
  const auto inside = file.lexically_relative(data);
  const std::string folder = inside.empty() ? "" : inside.begin()->string();
  if (folder == "log" || folder == "projections") {
    return "a file of the service, which its next start writes anew; don't remove it";
  }
  const auto run = run_of_file(file, data);
  const auto known = run ? jobs.find(*run) : jobs.end();
  if (known != jobs.end() && !known->second.empty()) {
    return "of a run whose job " + known->second +
           " is in progress and may need it; look at it again when that has ended";
  }
  if (folder == "jobs" && known != jobs.end()) {
    return "a file of a job that has ended, which goes with the other files of its run "
           "(files_older_than of [retention]); don't remove it before";
  }
  return std::nullopt;
}

}  // namespace

boost::json::object describe_remaining_file(const std::filesystem::path& file,
                                            const std::filesystem::path& data,
                                            const JobsOfRuns& jobs) {
  boost::json::object object{{"file", file.string()}};
  boost::json::array commands;
  if (const auto why = why_file_stays(file, data, jobs)) {
    object["stays"] = *why;
  } else {
    commands.emplace_back("rm -- " + for_the_shell(file.string()));
    const auto run = run_of_file(file, data);
    // Files of a run root that come from the log can be rebuilt from the redacted log, unless a
    // retention has dropped the run.
    if (run && jobs.contains(*run)) {
      commands.emplace_back("signalbox artifacts rebuild " + to_string(*run));
    }
  }
  object["commands"] = std::move(commands);
  return object;
}

}  // namespace signalbox
