// A variable of this process's environment.
#pragma once

#include <cstdlib>
#include <string>

namespace signalbox {

// Returns the variable's value; empty if it isn't set. No other thread may change it
// meanwhile.
inline std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace signalbox
