// Routes a Command to the decide() of its alternative.
#include "domain/decide.h"

#include "domain/run_span.h"

namespace signalbox {

Decided<NewEvents> decide(const World& world, const Command& command, const Now& now) {
  Decided<NewEvents> decided =
      std::visit([&](const auto& c) { return decide(world, c, now); }, command);
  if (decided) {
    add_card_events(world, *decided, now);
    add_run_spans(*decided);
  }
  return decided;
}

}  // namespace signalbox
