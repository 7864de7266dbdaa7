#include "server/platform/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>

#include "domain/check.h"
#include "domain/try.h"
#include "server/platform/call_bounds.h"
#include "server/platform/service_manager.h"

namespace signalbox {
namespace {

// Not every kernel has pidfds, and what a poll() lasts in addition is what tells of a stop of this
// process. So no poll() is to last longer than this.
constexpr std::int64_t poll_interval_ms_max = 1000;
constexpr std::int64_t poll_interval_without_notices_ms = 20;
// A wait that is later by more: this process was stopped. As the tolerance of ClockWatch.
constexpr std::int64_t stopped_ms_min = 1000;
// How often new descendants are searched for; a search reads /proc.
constexpr std::int64_t terminating_scan_interval_ms = 100;
constexpr std::int64_t killing_scan_interval_ms = 20;
constexpr int reads_per_round_max = 16;
// Bounds the reading after the program's end to what is in the pipes, since a survivor may write
// on.
constexpr int reads_at_end_max = 64;

class FileActions {
 public:
  FileActions() { SIGNALBOX_CHECK(posix_spawn_file_actions_init(&actions_) == 0); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

  void connect(int number, int descriptor, int mode_of_null) {
    if (descriptor < 0) {
      posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", mode_of_null, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, descriptor, number);
    }
  }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  explicit Attributes(ChildProcess::Group group) {
    SIGNALBOX_CHECK(posix_spawnattr_init(&attributes_) == 0);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (group == ChildProcess::Group::own_session) flags |= POSIX_SPAWN_SETSID;
    if (group == ChildProcess::Group::own) flags |= POSIX_SPAWN_SETPGROUP;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, flags);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::vector<std::string> inherited_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_service_manager_variable(*entry)) entries.emplace_back(*entry);
  }
  return entries;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the text as a file in memory: the program reads it at its own pace, and no thread has to
// feed it.
FileDescriptor memory_file(const std::string& text) {
  FileDescriptor file(::memfd_create("input", MFD_CLOEXEC));
  if (!file || !write_all(file, text) || ::lseek(file.get(), 0, SEEK_SET) != 0) return {};
  return file;
}

// Returns the pid of the new child. `descriptors` are its stdin, stdout and stderr; -1 means
// /dev/null. Error: the errno of the failed step.
tl::expected<pid_t, int> spawn(const ChildProcess::Settings& settings,
                               const std::array<int, 3>& descriptors) {
  FileActions actions;
  actions.connect(STDIN_FILENO, descriptors[0], O_RDONLY);
  actions.connect(STDOUT_FILENO, descriptors[1], O_WRONLY);
  actions.connect(STDERR_FILENO, descriptors[2], O_WRONLY);
  int first_closed = STDERR_FILENO + 1;
  if (settings.held_descriptor >= 0) {
    actions.connect(first_closed++, settings.held_descriptor, O_RDONLY);
  }
  posix_spawn_file_actions_addclosefrom_np(actions.get(), first_closed);
  if (!settings.cwd.empty()) {
    posix_spawn_file_actions_addchdir_np(actions.get(), settings.cwd.c_str());
  }
  Attributes attributes(settings.group);
  const std::vector<std::string> variables =
      settings.environment ? *settings.environment : inherited_environment();
  std::vector<char*> argv = pointers_to(settings.argv);
  const std::string& program = settings.argv.front();
  if (program == own_program) argv.front() = program_invocation_name;
  const std::vector<char*> environment = pointers_to(variables);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program.c_str(), actions.get(), attributes.get(),
                                 argv.data(), environment.data());
  if (error != 0) return tl::unexpected(error);
  return pid;
}

sigset_t child_signal_set() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  return signals;
}

}  // namespace

FileDescriptor ChildProcess::Stream::open(Sink to) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  pipe = FileDescriptor(ends[0]);
  sink = std::move(to);
  return FileDescriptor(ends[1]);
}

void ChildProcess::Stream::read(int reads_max) {
  std::array<char, 64 * 1024> buffer;
  for (int reads = 0; pipe && reads < reads_max; ++reads) {
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;  // nothing to read now
    if (got == 0) {
      pipe = {};
      return;
    }
    sink({buffer.data(), static_cast<std::size_t>(got)});
  }
}

tl::expected<ChildProcess, int> ChildProcess::start(Settings settings) {
  // The program would get the part before it.
  const auto has_nul = [](const std::string& word) { return word.find('\0') != std::string::npos; };
  if (std::any_of(settings.argv.begin(), settings.argv.end(), has_nul)) {
    return tl::unexpected(EINVAL);
  }
  ChildProcess child;
  std::array<int, 3> descriptors{-1, settings.stdout_descriptor, settings.stderr_descriptor};
  FileDescriptor input;
  if (settings.input) {
    input = memory_file(*settings.input);
    if (!input) return tl::unexpected(errno);
    descriptors[0] = input.get();
  }
  std::array<FileDescriptor, 2> writers;
  const std::array<Sink*, 2> sinks{&settings.stdout_sink, &settings.stderr_sink};
  for (std::size_t at = 0; at < sinks.size(); ++at) {
    if (!*sinks[at]) continue;
    writers[at] = child.streams_[at].open(std::move(*sinks[at]));
    if (!writers[at]) return tl::unexpected(errno);
    descriptors[at + 1] = writers[at].get();
  }
  if (settings.stderr_as_stdout) descriptors[2] = descriptors[1];

  const auto pid = TRY(spawn(settings, descriptors));
  child.group_ = settings.group;
  child.reach_ = settings.reach;
  child.identity_.pid = pid;
  if (const auto process = read_process(pid)) child.identity_ = process->identity;
  if (settings.reach == Reach::descendants) {
    const sigset_t signals = child_signal_set();
    child.end_notices_ = FileDescriptor(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  } else {
    child.end_notices_ = open_process(child.identity_);
  }
  return child;
}

std::int64_t ChildProcess::now_ms() { return CallBounds::now_ms(); }

bool ChildProcess::has_ended() {
  const bool all = reach_ == Reach::descendants;
  signalfd_siginfo notice{};
  while (all && ::read(end_notices_.get(), &notice, sizeof notice) > 0) {
  }
  while (!none_left_) {
    int status = 0;
    const pid_t pid = ::waitpid(all ? -1 : identity_.pid, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid == 0) break;
    if (pid == identity_.pid && !ended_) status_ = status;
    ended_ = ended_ || pid < 0 || pid == identity_.pid;
    none_left_ = pid < 0 || !all;
  }
  return ended_;
}

bool ChildProcess::await_end(std::int64_t deadline_ms) {
  while (!has_ended()) {
    if (now_ms() >= deadline_ms) return false;
    const std::int64_t stopped_ms = wait(deadline_ms);
    if (deadline_ms != never_ms) deadline_ms += stopped_ms;
  }
  read_rest();
  return true;
}

std::int64_t ChildProcess::wait(std::int64_t deadline_ms, int also) {
  const std::int64_t begun_ms = now_ms();
  const std::int64_t interval_ms = std::clamp<std::int64_t>(
      deadline_ms - begun_ms, 0,
      end_notices_ ? poll_interval_ms_max : poll_interval_without_notices_ms);
  std::array<pollfd, 4> polled{{{end_notices_.get(), POLLIN, 0},
                                {also, POLLIN, 0},
                                {streams_[0].pipe.get(), POLLIN, 0},
                                {streams_[1].pipe.get(), POLLIN, 0}}};
  ::poll(polled.data(), polled.size(), static_cast<int>(interval_ms));
  const std::int64_t late_ms = now_ms() - begun_ms - interval_ms;
  for (Stream& stream : streams_) stream.read(reads_per_round_max);
  return late_ms > stopped_ms_min ? late_ms : 0;
}

void ChildProcess::read_rest() {
  for (Stream& stream : streams_) stream.read(reads_at_end_max);
}

ChildProcess::Ending ChildProcess::end(std::int64_t grace_ms) {
  SIGNALBOX_CHECK(group_ != Group::of_caller);
  Ending ending = reach_ == Reach::group ? end_group(grace_ms) : end_descendants(grace_ms);
  read_rest();
  return ending;
}

ChildProcess::Ending ChildProcess::end_group(std::int64_t grace_ms) {
  ::kill(-identity_.pid, SIGTERM);
  bool gone = await_end(now_ms() + grace_ms);
  // Sent even if the program has ended: other processes of its group may be left.
  ::kill(-identity_.pid, SIGKILL);
  gone = gone || await_end(now_ms() + kill_patience_ms);
  return {0, gone ? std::vector<std::int32_t>() : std::vector<std::int32_t>{identity_.pid}};
}

ChildProcess::Ending ChildProcess::end_descendants(std::int64_t grace_ms) {
  Ending ending;
  std::set<ProcessIdentity> signaled;
  for (const int signal : {SIGTERM, SIGKILL}) {
    const bool killing = signal == SIGKILL;
    std::int64_t deadline_ms = now_ms() + (killing ? kill_patience_ms : grace_ms);
    for (std::int64_t next_scan_ms = 0;;) {
      has_ended();
      if (none_left_) return ending;
      if (now_ms() >= next_scan_ms) {
        for (const ProcessIdentity& descendant : descendants_of(::getpid())) {
          const bool is_new = signaled.insert(descendant).second;
          if (is_new && descendant != identity_) ++ending.others_signaled;
          if (is_new || killing) send_signal(descendant, signal);
        }
        next_scan_ms =
            now_ms() + (killing ? killing_scan_interval_ms : terminating_scan_interval_ms);
      }
      if (now_ms() >= deadline_ms) break;
      deadline_ms += wait(std::min(deadline_ms, next_scan_ms));
    }
  }
  for (const ProcessIdentity& survivor : descendants_of(::getpid())) {
    ending.survivors.push_back(survivor.pid);
  }
  return ending;
}

std::optional<std::int32_t> ChildProcess::exit_code() const {
  if (!status_ || !WIFEXITED(*status_)) return std::nullopt;
  return WEXITSTATUS(*status_);
}

std::optional<std::int32_t> ChildProcess::signal() const {
  if (!status_ || !WIFSIGNALED(*status_)) return std::nullopt;
  return WTERMSIG(*status_);
}

void become_reaper() {
  const sigset_t signals = child_signal_set();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

bool is_transient_start_error(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE ||
         error == ETXTBSY;
}

void BoundedOutput::add(std::string_view bytes) {
  stream_bytes_ += bytes.size();
  const std::size_t room = std::min(head_bytes_max_ - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * tail_bytes_max_) tail_.erase(0, tail_.size() - tail_bytes_max_);
}

std::string_view BoundedOutput::tail() const {
  return std::string_view(tail_).substr(tail_.size() - std::min(tail_bytes_max_, tail_.size()));
}

}  // namespace signalbox
