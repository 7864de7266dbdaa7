#include "store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <thread>
#include <utility>

#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr std::size_t holder_bytes_max = 256;
// flock(2) can't wait for a limited time.
constexpr auto lock_poll_interval = std::chrono::milliseconds(5);

StoreError held_by_another(const std::filesystem::path& path) {
  const DirectoryHolder holder = read_directory_holder(path);
  StoreError error;
  error.kind = StoreError::Kind::in_use;
  error.message =
      path.parent_path().string() + " is in use by " +
      (holder.command.empty() ? std::string("another process") : "`" + holder.command + "`") +
      (holder.process_id.empty() ? "" : ", process " + holder.process_id);
  error.file = path.string();
  return error;
}

}  // namespace

DirectoryHolder read_directory_holder(const std::filesystem::path& lock_file) {
  std::istringstream lines(read_file(lock_file, holder_bytes_max).value_or(""));
  DirectoryHolder holder;
  std::getline(lines, holder.process_id);
  std::getline(lines, holder.command);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  // Users paste the process id behind `kill`, so anything but digits is discarded.
  if (!std::all_of(holder.process_id.begin(), holder.process_id.end(), is_digit)) return {};
  return holder;
}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  release();
  file_ = std::move(other.file_);
  return *this;
}

// Closing the descriptor isn't enough: the lock belongs to all its copies, and a child has one
// between fork(2) and exec(2).
void DirectoryLock::release() {
  if (file_) static_cast<void>(::flock(file_.get(), LOCK_UN));
  file_ = FileDescriptor();
}

Stored<DirectoryLock> DirectoryLock::take(const std::filesystem::path& path,
                                          std::string_view command,
                                          std::chrono::milliseconds wait_max) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return tl::unexpected(system_error("open", path));
  const auto deadline = std::chrono::steady_clock::now() + wait_max;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return tl::unexpected(system_error("lock", path));
    if (std::chrono::steady_clock::now() >= deadline) return tl::unexpected(held_by_another(path));
    std::this_thread::sleep_for(lock_poll_interval);
  }
  // The contents are only a hint for people: a disk without room for them must not prevent the
  // start.
  const std::string holder = std::to_string(::getpid()) + "\n" + std::string(command) + "\n";
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), holder.data(), holder.size(), 0) < 0) {
    static_cast<void>(::ftruncate(file.get(), 0));
  }
  return DirectoryLock(std::move(file));
}

Stored<DirectoryLock> DirectoryLock::take_directory(const std::filesystem::path& directory) {
  FileDescriptor file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) return tl::unexpected(system_error("open", directory));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return DirectoryLock(std::move(file));
  if (errno != EWOULDBLOCK) return tl::unexpected(system_error("lock", directory));
  StoreError error;
  error.kind = StoreError::Kind::in_use;
  error.message = directory.string() + " is in use by another process";
  error.file = directory.string();
  return tl::unexpected(std::move(error));
}

}  // namespace signalbox
