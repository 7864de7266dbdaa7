// Who a request comes from, once that is known.
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
