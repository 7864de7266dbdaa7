#include "tools/lock/lock_owner.h"

#include <array>

#include <pwd.h>
#include <unistd.h>

#include "domain/limits.h"
#include "server/platform/host_name.h"

namespace signalbox {

std::string lock_owner_of(pid_t pid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  std::string user = found != nullptr ? found->pw_name : "uid" + std::to_string(::geteuid());
  const std::string end = ":" + std::to_string(pid);
  std::string owner = std::move(user) + "@" + host_name();
  owner.resize(std::min(owner.size(), limits::name_bytes_max - end.size()));
  return owner + end;
}

}  // namespace signalbox
