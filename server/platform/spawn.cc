#include "server/platform/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>

#include "domain/check.h"
#include "server/platform/service_manager.h"

namespace signalbox {
namespace {

class FileActions {
 public:
  FileActions() { SIGNALBOX_CHECK(posix_spawn_file_actions_init(&actions_) == 0); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

  void send_to(int number, int descriptor) {
    if (descriptor < 0) {
      posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_WRONLY, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, descriptor, number);
    }
  }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  explicit Attributes(const Spawn& what) {
    SIGNALBOX_CHECK(posix_spawnattr_init(&attributes_) == 0);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (what.new_session) flags |= POSIX_SPAWN_SETSID;
    if (what.new_process_group) flags |= POSIX_SPAWN_SETPGROUP;
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

}  // namespace

tl::expected<pid_t, int> spawn(const Spawn& what) {
  FileActions actions;
  if (what.stdin_descriptor < 0) {
    posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(actions.get(), what.stdin_descriptor, STDIN_FILENO);
  }
  actions.send_to(STDOUT_FILENO, what.stdout_descriptor);
  actions.send_to(STDERR_FILENO, what.stderr_descriptor);
  posix_spawn_file_actions_addclosefrom_np(actions.get(), 3);
  if (!what.cwd.empty()) posix_spawn_file_actions_addchdir_np(actions.get(), what.cwd.c_str());

  Attributes attributes(what);
  const std::vector<char*> argv = pointers_to(what.argv);
  const std::vector<std::string> inherited = inherited_environment();
  const std::vector<char*> environment =
      pointers_to(what.environment != nullptr ? *what.environment : inherited);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv.front(), actions.get(), attributes.get(), argv.data(),
                                 environment.data());
  if (error != 0) return tl::unexpected(error);
  return pid;
}

}  // namespace signalbox
