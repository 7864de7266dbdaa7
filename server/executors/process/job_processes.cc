#include "server/executors/process/job_processes.h"

#include <poll.h>
#include <sys/socket.h>

#include <system_error>
#include <vector>

#include "server/executors/process/job_environment.h"
#include "server/platform/process_table.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

// The search runs on the engine's thread for each connection, and whoever connects chooses how many
// parents it has and when these end. A step takes some tens of microseconds.
constexpr int ancestors_max = 128;  // a line of parents longer than this is no honest one
constexpr int walks_max = 8;        // a parent that ends during a walk makes another necessary
constexpr int steps_max = 256;      // of all walks together
constexpr int so_peer_pidfd = 77;   // SO_PEERPIDFD, since Linux 6.5; not in Debian 12's headers

// Returns the name of `directory` if it lies in `jobs_root`, whichever path leads there.
std::optional<std::string> job_in(const std::filesystem::path& jobs_root,
                                  const std::filesystem::path& directory) {
  if (directory.empty()) return std::nullopt;
  std::error_code error;
  const bool ours = std::filesystem::equivalent(directory.parent_path(), jobs_root, error);
  return ours && !error ? std::optional(directory.filename().string()) : std::nullopt;
}

bool are_of_shim(const std::vector<std::string>& arguments) {
  return arguments.size() == 4 && arguments[1] == "shim" && arguments[2] == "--job-dir";
}

// Returns the job, of those in `jobs_root`, that this process supervises; nullopt if it is no shim.
std::optional<std::string> job_of_shim(pid_t pid, const std::filesystem::path& jobs_root) {
  const std::vector<std::string> arguments = arguments_of(pid);
  if (!are_of_shim(arguments)) return std::nullopt;
  if (auto job_id = job_in(jobs_root, arguments[3])) return job_id;
  // If the data directory was moved since, the directory that the shim works in is the job's.
  std::error_code error;
  const std::filesystem::path link = "/proc/" + std::to_string(pid) + "/cwd";
  return job_in(jobs_root, std::filesystem::read_symlink(link, error));
}

struct Walk {
  bool complete = false;
  bool endless = false;  // there are more ancestors than are looked at
  std::optional<std::string> job_id;
};

// Goes from `first` to its oldest ancestor, and takes its steps from `steps_left`. The outermost
// shim counts: a job may start something that looks like a shim, but only below its own.
Walk walk_ancestors(const Process& first, const std::filesystem::path& jobs_root, int& steps_left) {
  Walk walk;
  Process at = first;
  for (int step = 0; step < ancestors_max && steps_left > 0; ++step) {
    --steps_left;
    if (auto job_id = job_of_shim(at.identity.pid, jobs_root)) walk.job_id = std::move(job_id);
    // A process whose parent has ended meanwhile has another one.
    const auto now = read_process(at.identity.pid);
    if (!now || now->identity != at.identity || now->parent != at.parent) return walk;
    if (at.parent <= 1) {
      walk.complete = true;
      return walk;
    }
    const auto parent = read_process(at.parent);
    const bool is_older =
        parent && parent->identity.start_time_ticks <= at.identity.start_time_ticks;
    if (!is_older) return walk;
    at = *parent;
  }
  walk.endless = true;
  return walk;
}

ProcessJob find_job(const Process& process, const std::filesystem::path& jobs_root,
                    const JobOfSecret& job_of_secret) {
  const pid_t pid = process.identity.pid;
  int steps_left = steps_max;
  for (int attempt = 0; attempt < walks_max; ++attempt) {
    const auto now = read_process(pid);
    if (!now || now->identity != process.identity || now->zombie) break;
    Walk walk = walk_ancestors(*now, jobs_root, steps_left);
    if (walk.endless) break;
    // A shim that was seen in part of the line may be one that the job itself has started.
    if (!walk.complete) continue;
    if (walk.job_id) return {std::move(walk.job_id)};
    return {job_of_secret(initial_variable(pid, job_secret_name))};
  }
  return {std::nullopt, /*process_is_gone=*/true};
}

}  // namespace

bool is_shim(pid_t process) { return are_of_shim(arguments_of(process)); }

ProcessJob job_of_process(pid_t process, const std::filesystem::path& jobs_root,
                          const JobOfSecret& job_of_secret) {
  const auto found = read_process(process);
  if (!found || found->zombie) return {std::nullopt, /*process_is_gone=*/true};
  return find_job(*found, jobs_root, job_of_secret);
}

ProcessJob job_of_peer(int socket, const std::filesystem::path& jobs_root,
                       const JobOfSecret& job_of_secret) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return {std::nullopt, /*process_is_gone=*/true};
  }
  // A process outside of this service's PID namespace has no number in it, and is none of its jobs.
  if (credentials.pid == 0) return {};
  int pidfd = -1;
  size = sizeof pidfd;
  const bool has_pidfd = ::getsockopt(socket, SOL_SOCKET, so_peer_pidfd, &pidfd, &size) == 0;
  const FileDescriptor process(has_pidfd ? pidfd : -1);
  ProcessJob found = job_of_process(credentials.pid, jobs_root, job_of_secret);
  // The number may be that of another process by now. Kernels before 6.5 don't say.
  pollfd ended{process.get(), POLLIN, 0};
  if (process && ::poll(&ended, 1, 0) > 0) return {std::nullopt, /*process_is_gone=*/true};
  return found;
}

}  // namespace signalbox
