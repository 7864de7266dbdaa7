#include "domain/event.h"

namespace signalbox {

EventTag tag_of(const Event& event) {
  return apply([](const auto& e) { return std::remove_cvref_t<decltype(e)>::tag; }, event);
}

std::string to_string(const Stream& stream) {
  switch (stream.kind) {
    case StreamKind::server:
      return "server";
    case StreamKind::run:
      return "run/" + to_string(stream.run_id);
    case StreamKind::lock:
      return "lock/" + stream.name;
    case StreamKind::tick:
      return "tick/" + stream.name;
    case StreamKind::access:
      return "access";
  }
  return {};
}

}  // namespace signalbox
