// What the methods of the socket interface work with. Wired by the server, owned elsewhere.
#pragma once

#include <functional>
#include <string>

#include "server/board/repository_check.h"
#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/followers/projector.h"
#include "server/followers/run_root/found_file.h"
#include "server/platform/artifact_store.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/known_pipeline.h"
#include "store/event_log.h"
#include "store/random_source.h"

namespace signalbox {

class AgentLogs;
class Authentication;
class BoardLoops;
class LockQueue;
class RetentionLoop;
class RunRootWriter;
class ServiceMetrics;
class Snapshotter;
class StepQueue;
class TraceExporter;

// Facts about this process that `server.status` tells.
struct ServerFacts {
  std::string data_directory;
  std::string socket_path;
  std::int64_t started_at_ns = 0;
  std::size_t jobs_max = 8;
  std::size_t remote_jobs_max = 32;
};

struct Api {
  Engine& engine;
  EventLog& log;
  Projector& projector;
  ClaimQueue& claims;
  LockQueue& locks;
  EventFeed& feed;
  ArtifactStore& artifacts;
  Clock& clock;
  IdSource& ids;
  ServerFacts facts;
  BlockingPool blocking;
  Post post;  // to the engine's thread
  Timers& timers;
  // The digest of the world as it is, see projections/world_digest.h.
  std::function<Digest()> world_digest;
  // What writes the files in run roots; nullptr where there are none, as in tests.
  RunRootWriter* run_roots = nullptr;
  // Calls `written` once the files that follow from everything up to `position` are there, with
  // what went wrong, or "". On any thread. Empty where there are none.
  std::function<void(Position position, std::function<void(const std::string& error)> written)>
      when_files_written = nullptr;
  // How a file of a run root is read; a simulation has files of its own.
  ReadFoundFile read_found_file = signalbox::read_found_file;
  KnownPipeline known_pipeline{};  // of the latest run.start that brought one
  // Who is who; nullptr where everybody is who they are said to be, as in tests.
  Authentication* authentication = nullptr;
  // What secrets are made of.
  RandomSource random = secure_random();
  // Where workers wait for steps; nullptr where none can.
  StepQueue* steps = nullptr;
  // What makes snapshots; nullptr where nothing does, as in tests.
  const Snapshotter* snapshotter = nullptr;
  // The loops that can be triggered; nullptr where there are none.
  BoardLoops* board = nullptr;
  // What moves old records into an archive; nullptr where nothing does.
  RetentionLoop* retention = nullptr;
  // What is counted; nullptr where nothing is, as in tests.
  ServiceMetrics* metrics = nullptr;
  // What sends spans to a collector; nullptr where nothing does, as in tests.
  const TraceExporter* traces = nullptr;
  // Tells subscribers what agents print; nullptr where nothing does, as in tests.
  AgentLogs* agent_logs = nullptr;
  // Begins a tick of the heartbeat now, unless one is in progress; does nothing where it is empty,
  // as in tests. The engine's thread, outside of a transaction.
  std::function<void(const std::string& reason)> trigger_heartbeat = nullptr;
  // How the repository of a project that is put is looked at; a simulation has its own. May block.
  std::function<Decided<void>(const PutProject& command)> check_repository =
      signalbox::check_repository;
};

}  // namespace signalbox
