#include "tools/bench/child_server.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain/try.h"
#include "tools/cli/bench_options.h"
#include "tools/cli/client.h"
#include "tools/cli/text_source.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds ready_within{120};
constexpr std::chrono::seconds ended_within{60};
constexpr std::chrono::milliseconds poll_pause{2};

// The first word names a program beside this one.
Called<pid_t> spawn(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const std::string program = program_beside(words.front());
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return tl::unexpected(io_error("can't start " + program + ": " + std::strerror(error)));
  }
  return pid;
}

}  // namespace

Called<std::unique_ptr<ChildServer>> ChildServer::start(
    const std::filesystem::path& data, const std::vector<std::string>& more_options) {
  std::vector<std::string> words = {"signalbox", "serve", "--log-level", "warn"};
  words.insert(words.end(), more_options.begin(), more_options.end());
  return spawn_on(data, std::move(words));
}

Called<std::unique_ptr<ChildServer>> ChildServer::start_bare_path(
    const std::filesystem::path& data) {
  return spawn_on(data, {"signalbox-bench", "bare-path"});
}

Called<std::unique_ptr<ChildServer>> ChildServer::spawn_on(const std::filesystem::path& data,
                                                           std::vector<std::string> words) {
  std::filesystem::create_directories(data);
  const std::filesystem::path socket = data / "signalbox.sock";
  const std::string log = (data / "server.log").string();
  words.insert(words.end(), {"--data", data.string(), "--socket", socket.string()});
  const auto pid = TRY(spawn(std::move(words), log));
  std::unique_ptr<ChildServer> server(new ChildServer(pid, socket));
  TRY(server->wait_until_ready(log));
  return server;
}

Called<void> ChildServer::wait_until_ready(const std::filesystem::path& log) {
  const auto start = SteadyClock::now();
  for (;;) {
    if (auto client = Client::connect(socket_); client && client->call("server.status", {})) {
      time_to_answer_ = SteadyClock::now() - start;
      return {};
    }
    int status = 0;
    const bool ended = ::waitpid(pid_, &status, WNOHANG) == pid_;
    if (ended) pid_ = -1;
    if (ended || SteadyClock::now() - start > ready_within) {
      const auto log_text = read_file(log);
      return tl::unexpected(io_error("the server did not come up: " + (log_text ? *log_text : "")));
    }
    std::this_thread::sleep_for(poll_pause);
  }
}

ChildServer::~ChildServer() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  const auto start = SteadyClock::now();
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (SteadyClock::now() - start > ended_within) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(poll_pause);
  }
}

std::optional<std::uint64_t> anonymous_bytes(const std::filesystem::path& process) {
  std::ifstream status(process / "status");
  std::string name;
  while (status >> name) {
    if (name == "RssAnon:") {
      std::uint64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  }
  return std::nullopt;
}

std::uint64_t ChildServer::resident_bytes() const {
  return anonymous_bytes("/proc/" + std::to_string(pid_)).value_or(0);
}

std::uint64_t ChildServer::thread_ticks(const std::string& name) const {
  std::uint64_t ticks = 0;
  std::error_code ended;
  for (std::filesystem::directory_iterator thread("/proc/" + std::to_string(pid_) + "/task", ended),
       end;
       !ended && thread != end; thread.increment(ended)) {
    // "id (name) state", ten more fields, then the ticks in user and in system mode (proc(5)).
    std::ifstream stat(thread->path() / "stat");
    std::string id, words;
    stat >> id;
    std::getline(stat, words, ')');
    if (words != " (" + name) continue;
    for (int field = 0; field < 11; ++field) stat >> words;
    std::uint64_t user = 0, system = 0;
    stat >> user >> system;
    ticks += user + system;
  }
  return ticks;
}

void ChildServer::kill() {
  ::kill(pid_, SIGKILL);
  (void)::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace signalbox
