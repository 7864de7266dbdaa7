// The authenticated sender of a request: its actor name and its role.
#pragma once

#include <string>

#include "domain/access.h"

namespace signalbox {

struct Principal {
  std::string actor;  // as records name it: "uid:1000", "token:ci", "tcp:127.0.0.1"
  Role role = Role::viewer;

  friend bool operator==(const Principal&, const Principal&) = default;
};

}  // namespace signalbox
