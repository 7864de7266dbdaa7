// Routes a Command to the decide() of its alternative.
#include "domain/decide.h"

namespace signalbox {

Decided<NewEvents> decide(const World& world, const Command& command, const Now& now) {
  Decided<NewEvents> decided =
      std::visit([&](const auto& c) { return decide(world, c, now); }, command);
  if (decided) add_card_events(world, *decided, now);
  return decided;
}

}  // namespace signalbox
