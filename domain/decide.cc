#include "domain/decide.h"

namespace signalbox {

Decided<NewEvents> decide(const World& world, const Command& command, const Now& now) {
  return std::visit([&](const auto& c) { return decide(world, c, now); }, command);
}

}  // namespace signalbox
