#include "server/git/repository_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>

#include "server/git/git_command.h"
#include "server/git/path_facts.h"
#include "server/platform/call_bounds.h"
#include "server/platform/clock.h"

namespace signalbox {
namespace {

constexpr int retry_interval_ms = 20;

thread_local int held_by_thread = -1;

}  // namespace

RepositoryLock::RepositoryLock(FileDescriptor file) : file_(std::move(file)) {
  held_by_thread = file_.get();
}

RepositoryLock::~RepositoryLock() {
  if (file_) held_by_thread = -1;
}

int RepositoryLock::held_descriptor() { return held_by_thread; }

tl::expected<RepositoryLock, std::string> RepositoryLock::take(
    const std::filesystem::path& repository, std::int64_t wait_ms) {
  const std::filesystem::path directory = common_git_directory(repository);
  if (directory.empty()) {
    return tl::unexpected(repository.string() + " is not a git repository");
  }
  const std::filesystem::path path = directory / "signalbox-worktree.lock";
  // Opened for reading: a user who may only read the repository can wait for the lock, too.
  // O_NONBLOCK: a FIFO in its place must not be waited for; a lock on it would do no harm.
  constexpr int flags = O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  FileDescriptor file(::open(path.c_str(), flags, 0644));
  if (!file) return tl::unexpected(system_error("open", path).message);

  const SystemClock clock;
  const std::int64_t give_up_ns = clock.monotonic_ns() + wait_ms * 1'000'000;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return tl::unexpected(system_error("lock", path).message);
    const bool is_over =
        CallBounds::is_canceled() || CallBounds::now_ms() >= CallBounds::deadline_ms();
    if (is_over || clock.monotonic_ns() >= give_up_ns) {
      return tl::unexpected("another worktree operation in " + repository.string() +
                            " took longer than " + std::to_string(wait_ms) + " ms");
    }
    ::poll(nullptr, 0, retry_interval_ms);
  }
  return RepositoryLock(std::move(file));
}

std::filesystem::path common_git_directory(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) return {};
  const GitOutcome found =
      git(directory, {"rev-parse", "--path-format=absolute", "--git-common-dir"});
  return found.ok ? resolved_path(found.line()) : std::filesystem::path();
}

}  // namespace signalbox
