// What every method of the socket interface works with. What only some of them need is given to
// their family (methods/families.h). Wired by the server, owned elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "domain/ids.h"
#include "server/followers/run_root/found_file.h"
#include "server/platform/blocking_pool.h"

namespace signalbox {

class ArtifactStore;
class Clock;
class Engine;
class EventLog;
class IdSource;
class Projector;
class Timers;

// Facts about this process that `server.status` tells.
struct ServerFacts {
  std::string data_directory;
  std::string socket_path;
  std::int64_t started_at_ns = 0;
  std::size_t jobs_max = 8;
  std::size_t remote_jobs_max = 32;
};

// Calls `written` once the files in run roots that follow from everything up to `position` are
// there, with what went wrong, or "". On any thread.
using WhenFilesWritten =
    std::function<void(Position position, std::function<void(const std::string& error)> written)>;

struct Api {
  Engine& engine;
  EventLog& log;
  Projector& projector;
  ArtifactStore& artifacts;
  Timers& timers;
  Clock& clock;
  IdSource& ids;
  ServerFacts facts;
  BlockingPool blocking;
  Post post;  // to the engine's thread
  WhenFilesWritten when_files_written;
  ReadFoundFile read_found_file;  // of run roots
};

}  // namespace signalbox
