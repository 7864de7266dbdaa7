#include "server/executors/git_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "server/executors/spawn.h"
#include "server/executors/utf8_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

void prepare_environment() {
  ::setenv("GIT_TERMINAL_PROMPT", "0", 1);
  ::setenv("LC_ALL", "C", 1);
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR",
                           "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_NAMESPACE"}) {
    ::unsetenv(name);
  }
}

// Reads what there is; false at the end. What exceeds the bound is read and dropped.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 16 * 1024> buffer;
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  const std::size_t room = git_output_bytes_max - std::min(git_output_bytes_max, text.size());
  text.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
  return got > 0;
}

void read_both(const FileDescriptor& out, std::string& output, const FileDescriptor& err,
               std::string& message) {
  std::array<pollfd, 2> polled{{{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}}};
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    ::poll(polled.data(), polled.size(), -1);
    if (polled[0].fd >= 0 && polled[0].revents != 0 && !read_some(out.get(), output)) {
      polled[0].fd = -1;
    }
    if (polled[1].fd >= 0 && polled[1].revents != 0 && !read_some(err.get(), message)) {
      polled[1].fd = -1;
    }
  }
}

GitOutcome not_started(int error) {
  GitOutcome outcome;
  outcome.message = "cannot run git: " + std::generic_category().message(error);
  return outcome;
}

}  // namespace

std::string GitOutcome::line() const { return output.substr(0, output.find('\n')); }

GitOutcome git(const std::filesystem::path& directory, std::vector<std::string> arguments,
               const std::filesystem::path& output_file) {
  prepare_environment();
  int out_ends[2];
  int err_ends[2];
  if (::pipe2(out_ends, O_CLOEXEC) != 0) return not_started(errno);
  FileDescriptor out(out_ends[0]);
  FileDescriptor out_writer(out_ends[1]);
  if (::pipe2(err_ends, O_CLOEXEC) != 0) return not_started(errno);
  const FileDescriptor err(err_ends[0]);
  FileDescriptor err_writer(err_ends[1]);
  if (!output_file.empty()) {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    out_writer = FileDescriptor(::open(output_file.c_str(), flags, 0600));
    if (!out_writer) return not_started(errno);
  }

  Spawn what;
  what.argv = std::move(arguments);
  what.argv.insert(what.argv.begin(), "git");
  what.cwd = directory;
  what.stdout_descriptor = out_writer.get();
  what.stderr_descriptor = err_writer.get();
  const auto pid = spawn(what);
  out_writer = {};
  err_writer = {};
  if (!pid) return not_started(pid.error());

  GitOutcome outcome;
  read_both(out, outcome.output, err, outcome.message);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  outcome.ok = outcome.exit_code == 0;
  while (outcome.message.ends_with('\n')) outcome.message.pop_back();
  outcome.message =
      shortened(with_replacements(without_credentials(outcome.message)), git_message_bytes_max);
  return outcome;
}

std::string without_credentials(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at)) {
    at += 3;
    const std::size_t end = text.find_first_of("/ \t\n'\"", at);
    const std::size_t last = end == std::string::npos ? text.size() : end;
    const std::size_t sign = text.substr(0, last).rfind('@');
    if (sign != std::string::npos && sign >= at) text.erase(at, sign + 1 - at);
  }
  return text;
}

}  // namespace signalbox
