// What happens to the service itself: its lives (incarnations), in the stream `server`.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event_tag.h"

namespace signalbox {

enum class PreviousEnd : std::uint8_t { none = 1, clean = 2, crashed = 3 };
BOOST_DESCRIBE_ENUM(PreviousEnd, none, clean, crashed)

struct ServerStarted {
  static constexpr EventTag tag{101, 1, "ServerStarted"};
  std::uint64_t incarnation = 0;
  std::string version;
  PreviousEnd previous = PreviousEnd::none;

  friend bool operator==(const ServerStarted&, const ServerStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(ServerStarted, (), (incarnation, version, previous))

struct ServerStopped {
  static constexpr EventTag tag{102, 1, "ServerStopped"};
  std::uint64_t incarnation = 0;

  friend bool operator==(const ServerStopped&, const ServerStopped&) = default;
};
BOOST_DESCRIBE_STRUCT(ServerStopped, (), (incarnation))

using ServerEvent = std::variant<ServerStarted, ServerStopped>;

}  // namespace signalbox
