// The number, version and name under which an event is stored and shown.
#pragma once

#include <cstdint>
#include <string_view>

namespace signalbox {

struct EventTag {
  std::uint16_t number;  // append only; a retired one stays as a comment in event.h
  std::uint16_t version;
  std::string_view name;  // in JSON and on the screen
};

}  // namespace signalbox
