// Which job a process belongs to.
//
// Jobs run as the server's user, so the credentials of a connection don't distinguish them from the
// person whose service it is. But a shim is the subreaper of its job: whatever a descendant does
// (fork twice, begin a session, clear its environment), its line of parents leads to the shim as
// long as the shim lives.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// The result of a search for the job of a process.
struct ProcessJob {
  std::optional<std::string> job_id;  // the name of its job's directory; nullopt: it is of no job
  // It has ended, or has more ancestors than are looked at, so nobody can say.
  bool process_is_gone = false;
};

// Returns the id of the job that a job's secret was made for, or nullopt.
using JobOfSecret = std::function<std::optional<std::string>(std::string_view secret)>;

// Returns whether the process was started as a shim is. A job can start what looks like one.
bool is_shim(pid_t process);

// Returns the job, of those in `jobs_root`, whose shim is an ancestor of `process`. Without such an
// ancestor the job whose secret is in the environment that the process was started with: its shim
// was killed.
ProcessJob job_of_process(pid_t process, const std::filesystem::path& jobs_root,
                          const JobOfSecret& job_of_secret);

// Returns the same for the process that connected a Unix socket; `socket` is this end of it.
ProcessJob job_of_peer(int socket, const std::filesystem::path& jobs_root,
                       const JobOfSecret& job_of_secret);

}  // namespace signalbox
