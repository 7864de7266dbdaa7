#include "tools/lock/lock_owner.h"

#include <array>

#include <pwd.h>
#include <unistd.h>

#include "domain/limits.h"

namespace signalbox {

std::string lock_owner_of(pid_t pid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  std::string user = found != nullptr ? found->pw_name : "uid" + std::to_string(::geteuid());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string end = ":" + std::to_string(pid);
  std::string owner = std::move(user) + "@" + host.data();
  owner.resize(std::min(owner.size(), limits::name_bytes_max - end.size()));
  return owner + end;
}

}  // namespace signalbox
