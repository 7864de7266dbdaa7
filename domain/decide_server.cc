#include "domain/decide.h"

namespace signalbox {

Decided<NewEvents> decide(const World& world, const StartServer& command, const Now&) {
  PreviousEnd previous = PreviousEnd::none;
  if (world.server.incarnation > 0) {
    previous = world.server.serving ? PreviousEnd::crashed : PreviousEnd::clean;
  }
  return NewEvents{
      {Stream::server(),
       {},
       0,
       ServerEvent{ServerStarted{world.server.incarnation + 1, command.version, previous}}}};
}

Decided<NewEvents> decide(const World& world, const StopServer&, const Now&) {
  return NewEvents{{Stream::server(), {}, 0, ServerEvent{ServerStopped{world.server.incarnation}}}};
}

}  // namespace signalbox
