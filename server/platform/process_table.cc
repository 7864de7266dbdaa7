#include "server/platform/process_table.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "server/platform/clock.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

// System calls by number: the header of glibc 2.36 that declares the functions can't be used from
// C++.
int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
bool send_to_pidfd(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
}

// Returns a file of /proc/<pid>; empty if the process has ended or the file may not be read.
std::string read_proc_file(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  char buffer[16 * 1024];
  while (file) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    content.append(buffer, static_cast<std::size_t>(got));
  }
  return content;
}

bool has_entry(std::string_view environment, std::string_view entry) {
  while (!environment.empty()) {
    const std::size_t end = environment.find('\0');
    if (environment.substr(0, end) == entry) return true;
    if (end == std::string_view::npos) break;
    environment.remove_prefix(end + 1);
  }
  return false;
}

// Returns every process below one of `roots`, and the roots themselves.
std::set<pid_t> with_descendants(const std::vector<Process>& processes, std::set<pid_t> roots) {
  std::multimap<pid_t, pid_t> children;
  for (const Process& process : processes) {
    children.emplace(process.parent, process.identity.pid);
  }
  std::vector<pid_t> open(roots.begin(), roots.end());
  while (!open.empty()) {
    const auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = first; child != last; ++child) {
      if (roots.insert(child->second).second) open.push_back(child->second);
    }
  }
  return roots;
}

std::vector<ProcessIdentity> living(const std::vector<Process>& processes,
                                    const std::set<pid_t>& wanted) {
  std::vector<ProcessIdentity> found;
  for (const Process& process : processes) {
    if (!process.zombie && wanted.contains(process.identity.pid)) {
      found.push_back(process.identity);
    }
  }
  return found;
}

// Returns the children of all the process's threads. Empty if the process has ended or the kernel
// doesn't provide the lists (CONFIG_PROC_CHILDREN).
std::optional<std::vector<pid_t>> children_of(pid_t pid) {
  std::vector<pid_t> children;
  bool known = false;
  std::error_code error;
  const std::filesystem::path threads = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator thread(threads, error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream list(thread->path() / "children");
    known = known || list.is_open();
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  if (!known) return std::nullopt;
  return children;
}

std::vector<ProcessIdentity> descendants_by_table(pid_t root) {
  const std::vector<Process> processes = all_processes();
  std::set<pid_t> wanted = with_descendants(processes, {root});
  wanted.erase(root);
  return living(processes, wanted);
}

// Blocks until all have ended or the time is over.
void await_end(const std::vector<ProcessIdentity>& processes, const Clock& clock,
               std::int64_t until_ns) {
  for (const ProcessIdentity& identity : processes) {
    const FileDescriptor process = open_process(identity);
    const std::int64_t left_ms = (until_ns - clock.monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return;
    pollfd ended{process.get(), POLLIN, 0};
    if (process) ::poll(&ended, 1, static_cast<int>(left_ms));
  }
}

}  // namespace

std::optional<Process> read_process(pid_t pid) {
  const std::string text = read_proc_file(pid, "stat");
  // The second field is the program's name in parentheses and may contain anything, so fields are
  // counted from its end (proc(5)).
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  Process process;
  process.identity.pid = pid;
  char state = 0;
  fields >> state >> process.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) fields >> skipped;
  fields >> process.identity.start_time_ticks;
  if (!fields) return std::nullopt;
  process.zombie = state == 'Z' || state == 'X';
  return process;
}

std::vector<std::string> arguments_of(pid_t pid) {
  std::vector<std::string> arguments;
  const std::string text = read_proc_file(pid, "cmdline");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    arguments.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

std::string initial_variable(pid_t pid, std::string_view name) {
  const std::string text = read_proc_file(pid, "environ");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    const std::string_view entry(text.data() + begin, end - begin);
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return std::string(entry.substr(name.size() + 1));
    }
    begin = end + 1;
  }
  return {};
}

std::vector<Process> all_processes() {
  std::vector<Process> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto pid = whole_number<pid_t>(entry->path().filename().string());
    if (!pid) continue;
    if (auto process = read_process(*pid)) processes.push_back(*process);
  }
  return processes;
}

// Reads the lists of children, whose cost depends on the process's descendants. Scanning the whole
// table costs as much as the machine has processes: with a thousand jobs that end together, a
// minute instead of a moment.
std::vector<ProcessIdentity> descendants_of(pid_t root) {
  std::vector<Process> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto children = children_of(parent);
    if (!children && parent == root) return descendants_by_table(root);
    // If the parent has ended meanwhile, its children have another parent by now.
    for (const pid_t child : children.value_or(std::vector<pid_t>())) {
      if (auto process = read_process(child)) found.push_back(*process);
      open.push_back(child);
    }
  }
  std::vector<ProcessIdentity> alive;
  for (const Process& process : found) {
    if (!process.zombie) alive.push_back(process.identity);
  }
  std::sort(alive.begin(), alive.end());
  alive.erase(std::unique(alive.begin(), alive.end()), alive.end());
  return alive;
}

std::vector<ProcessIdentity> processes_with_environment(std::string_view entry) {
  const std::vector<Process> processes = all_processes();
  std::set<pid_t> roots;
  for (const Process& process : processes) {
    const pid_t pid = process.identity.pid;
    if (pid != ::getpid() && has_entry(read_proc_file(pid, "environ"), entry)) roots.insert(pid);
  }
  std::set<pid_t> wanted = with_descendants(processes, std::move(roots));
  wanted.erase(::getpid());
  return living(processes, wanted);
}

FileDescriptor open_process(const ProcessIdentity& identity) {
  FileDescriptor process(open_pidfd(identity.pid));
  if (!process) return process;
  const auto now = read_process(identity.pid);
  if (!now || now->identity != identity) process = {};
  return process;
}

bool send_signal(const ProcessIdentity& identity, int signal) {
  const FileDescriptor process = open_process(identity);
  if (!process) return false;
  if (!send_to_pidfd(process.get(), signal)) return false;
  if (signal == SIGTERM) send_to_pidfd(process.get(), SIGCONT);
  return true;
}

std::vector<std::int32_t> end_processes(const std::function<std::vector<ProcessIdentity>()>& find,
                                        std::int64_t grace_ms) {
  const SystemClock clock;
  std::vector<ProcessIdentity> left = find();
  for (const ProcessIdentity& process : left) send_signal(process, SIGTERM);
  await_end(left, clock, clock.monotonic_ns() + grace_ms * 1'000'000);

  const std::int64_t give_up_ns = clock.monotonic_ns() + kill_patience_ms * 1'000'000;
  while (!(left = find()).empty() && clock.monotonic_ns() < give_up_ns) {
    bool killed = false;
    for (const ProcessIdentity& process : left) killed = send_signal(process, SIGKILL) || killed;
    // If none could be signaled, they have just ended or belong to another user.
    if (!killed) ::poll(nullptr, 0, 20);
    await_end(left, clock, std::min(give_up_ns, clock.monotonic_ns() + 1'000'000'000));
  }
  std::vector<std::int32_t> survivors;
  for (const ProcessIdentity& process : find()) survivors.push_back(process.pid);
  return survivors;
}

}  // namespace signalbox
