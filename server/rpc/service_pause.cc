#include "server/rpc/service_pause.h"

#include "server/text/described_json.h"

namespace signalbox {

boost::json::value pause_json(const World& world) {
  return world.server.pause ? boost::json::value(to_json(*world.server.pause)) : nullptr;
}

}  // namespace signalbox
