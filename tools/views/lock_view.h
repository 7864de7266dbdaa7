// Locks as people see them.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// What `lock.acquire`, `lock.get` and `lock.list` answered.
std::string view_acquired_lock(const boost::json::object& result, const Terminal& terminal,
                               std::int64_t now_ns);
std::string view_lock(const boost::json::object& result, const Terminal& terminal,
                      std::int64_t now_ns);
std::string view_lock_list(const boost::json::object& result, const Terminal& terminal,
                           std::int64_t now_ns);

}  // namespace signalbox
