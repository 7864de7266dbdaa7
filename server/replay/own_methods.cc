#include "server/replay/own_methods.h"

#include <memory>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "domain/world.h"
#include "projections/memory_table.h"
#include "server/replay/past_service.h"
#include "server/rpc/methods/openrpc.h"
#include "store/memory_event_log.h"

namespace signalbox {

// The handlers of the dispatch table are bound to the parts of a service, so that one is built: of
// a log with nothing but a first start.
Stored<std::string> describe_own_methods(std::string_view openapi) {
  MemoryEventLog log;
  Record started;
  started.position = 1;
  started.stream = Stream::server();
  started.event = ServerEvent{ServerStarted{1, {}, PreviousEnd::none}};
  const std::vector<Commit> commits{{std::move(started)}};
  if (log.append(0, commits).status != AppendStatus::ok) {
    return store_failure(StoreError::Kind::io, "an event log in memory can't be written");
  }
  const auto service =
      TRY(PastService::open(log, {}, log.tail(), World{}, std::make_unique<MemoryTable>()));
  return openrpc_document(service->methods(), openapi);
}

}  // namespace signalbox
