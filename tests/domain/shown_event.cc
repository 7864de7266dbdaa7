#include "tests/domain/shown_event.h"

namespace signalbox {

std::string shown(const Event& event) {
  return std::string(tag_of(event).name) + apply([](const auto& e) { return shown(e); }, event);
}

}  // namespace signalbox
