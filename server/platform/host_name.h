// The name of this machine.
#pragma once

#include <array>
#include <string>

#include <limits.h>
#include <unistd.h>

namespace signalbox {

// Returns the name of this machine as the kernel has it; empty if it says none.
inline std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

}  // namespace signalbox
