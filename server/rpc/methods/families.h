// The families of methods, one for each noun, and the parts that each needs beside the Api. The
// default of an optional part stands for a service without it, as in tests and in replays.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "domain/command.h"
#include "domain/default_pipeline.h"
#include "domain/project.h"
#include "server/board/board_settings.h"
#include "server/board/repository_check.h"
#include "server/cell/cell_upgrade.h"
#include "server/cell/cell_view.h"
#include "server/followers/traces/otlp_json.h"
#include "server/rpc/askers.h"
#include "server/rpc/method.h"
#include "server/rpc/upload_budget.h"
#include "store/random_source.h"

namespace signalbox {

class Authentication;
class ClaimQueue;
class EventFeed;
class FileRetention;
class KnownPipeline;
class LockQueue;
class LogCheck;
class LogTiles;
class RocksEventLog;
class RunnerOutputs;
class RunnerQueue;
class RunnerRegistry;
class RunnerRemovals;
class Peer;
class Redactions;
class RetentionLoop;
class RunRootWriter;
class ServiceArtifacts;
class ServiceLoops;
class Snapshotter;
class StepQueue;

// What `access.*` and `server.authenticate` need. With the defaults no secret can be authenticated.
struct AccessParts {
  // The roles of clients without a secret; nullopt: none.
  struct RolesWithoutToken {
    Role unix_others = Role::viewer;
    std::optional<Role> tcp_loopback;
  };
  RandomSource random = secure_random();  // for new secrets
  std::function<std::optional<RolesWithoutToken>()> roles_without_token = [] {
    return std::nullopt;
  };
  // Returns the id of the access token that a secret belongs to, or UNAUTHENTICATED; nullopt: this
  // service has no authentication.
  std::function<std::optional<Decided<Uuid>>(std::string_view secret)> token_of =
      [](std::string_view) { return std::nullopt; };
  struct KnownJob {
    std::string job_id;
    std::string actor;
  };
  // Returns the job that a job's secret belongs to, or UNAUTHENTICATED; nullopt: `secret` isn't of
  // a job.
  std::function<std::optional<Decided<KnownJob>>(std::string_view secret)> job_of =
      [](std::string_view) { return std::nullopt; };
};
AccessParts access_parts(const Authentication& authentication);

// Adds the status of one part of the service to the result of `server.status`. `disk_failures` is
// an object in it then, with why a source can't write its files.
using StatusPart = std::function<void(boost::json::object& status)>;
// Sets `disk_failures` to an object, with that of the read models if there is one.
void add_disk_sources(const Api& api, boost::json::object& status);
StatusPart status_of(const LogCheck& log_check);
StatusPart status_of(const Snapshotter& snapshotter);
StatusPart status_of(const RunRootWriter& run_roots);
StatusPart status_of(const RetentionLoop& retention);
StatusPart status_of(const Redactions& redactions);
StatusPart status_of(const FileRetention& retention);
// `store` is what the settings call the store of objects, if there is one.
StatusPart status_of(const ServiceArtifacts& artifacts, const std::string& store);
StatusPart status_of(const Api& api, const RunnerRegistry& runners);

// Calls `planned`, later, with what the file retention would remove now. Returns false if too many
// wait for that already. nullptr: this service removes no files.
struct FileRetentionReport;
using PlanFiles = std::function<bool(std::function<void(const FileRetentionReport&)> planned)>;

// Returns what the cards of a project will miss, as `project.check` answers it: `warnings` and
// `not_checked`. Blocks, as check_repository() does; called on a thread that may.
using CheckProject = std::function<boost::json::object(const Project& project)>;

// Subscribes a peer to the output of agents, of one run or without `run_id` of all runs.
using SubscribeAgentLogs = std::function<void(std::shared_ptr<Peer> peer, std::string subscription,
                                              std::optional<RunId> run_id)>;

// Returns the handler of `run.rebuild_artifacts` for a service that writes run roots.
Handler rebuild_run_roots(RunRootWriter& run_roots);
// Handles `run.rebuild_artifacts` for a service that doesn't: rejects with INTERNAL.
void refuse_rebuild(Api& api, Call& call);

// Returns the handler of `log.redact` for a service with a log on disk.
Handler redact_records(Redactions& redactions);
// Handles `log.redact` for a service without one: rejects with INTERNAL.
void refuse_redaction(Api& api, Call& call);

// What `audit.checkpoint`, `audit.tile` and `audit.records` need.
struct AuditParts {
  std::shared_ptr<LogTiles> tiles{};   // nullptr: the log isn't on a disk, and they refuse
  std::filesystem::path key{};         // the file of the key that signs; empty: there is none
  const RocksEventLog* log = nullptr;  // the same log; nullptr: it isn't on a disk
  std::optional<BlockingPool> pool{};  // reads the tiles; nullopt: api.log_readers
  // The callers that wait for one. One that ends its output over TCP still reads the answer.
  std::shared_ptr<Askers> askers = std::make_shared<Askers>(/*gives_up_doubtful=*/false);
};

// What `what_if.run` needs.
struct ForecastParts {
  BlockingPool pool;   // where its processes are waited for, with a lane for each caller
  BoardTexts board{};  // of the service, whose file may say something else by now
  // Returns true once the service stops, so that forecasts are ended. Called on the engine's
  // thread.
  std::function<bool()> is_stopping = [] { return false; };
};

// What `report.get` needs.
struct ReportParts {
  // Where reports are made, with a lane for each caller; nullopt: where old events are read.
  std::optional<BlockingPool> pool = std::nullopt;
  // The callers that wait for a report. One that ends its output over TCP still reads the answer.
  std::shared_ptr<Askers> askers = std::make_shared<Askers>(/*gives_up_doubtful=*/false);
};

// What `runner.*` needs.
struct RunnerParts {
  RunnerRegistry* registry = nullptr;  // nullptr: this service has no runners
  RunnerQueue* queue = nullptr;
  RunnerOutputs* outputs = nullptr;
  RunnerRemovals* removals = nullptr;
  std::string key{};  // of the runners' keys (access/secret.h)
  RandomSource random = secure_random();
  std::filesystem::path uploads{};  // the directory of artifacts that aren't complete yet
  std::filesystem::path jobs{};     // where the output of jobs is kept
  UploadBudget budget{};
  // A runner told something about the job. `undelivered` says why its result can't be sent; "": no
  // attempt to send it has failed.
  std::function<void(const std::string& job_id, const std::string& undelivered)> look_again =
      [](const std::string&, const std::string&) {};
  // What the runners offer has changed.
  std::function<void()> offers_changed = [] {};
  // Undoes a drain, or an eviction, that the log doesn't have: one of an earlier version, for which
  // there was no room. Returns whether there was any.
  std::function<bool(const std::string& runner, bool evicted)> undo_unrecorded = [](auto&, bool) {
    return false;
  };
  // A runner has said what became of a worktree that it was to remove.
  std::function<void(NoteWorktree note, bool rescued)> note_worktree = [](auto, bool) {};
};

// What `cell.*` needs. The default is a server in no cell.
struct CellParts {
  std::function<std::optional<CellView>()> view = [] { return std::nullopt; };
  // Has this server let go of the cell, for the one of this name, or any other if it is empty.
  // Called on the engine's thread; the caller is answered before the service ends.
  std::function<Decided<void>(const std::string& successor)> switch_over = nullptr;
  // Has the cell's feature level raised. `then` is called on the engine's thread, as is this.
  std::function<void(const CellUpgraded& then)> upgrade = nullptr;
};

struct MethodParts {
  ClaimQueue& claims;
  LockQueue& locks;
  StepQueue& steps;
  EventFeed& feed;
  const ServiceLoops& loops;
  // Returns the digest of the present world, see projections/world_digest.h.
  std::function<Digest()> world_digest;
  TraceResource trace_resource;
  CoderunnerMode coderunner_mode = CoderunnerMode::mock;  // for pipelines that name none
  AccessParts access{};
  std::vector<StatusPart> status_parts{};
  std::function<std::string()> metrics_text = [] { return std::string(); };
  SubscribeAgentLogs subscribe_agent_logs = [](auto, auto, auto) {};
  Handler rebuild_artifacts = refuse_rebuild;
  // Begins a tick of the heartbeat now, unless one is in progress. Called on the engine's thread,
  // outside of a transaction.
  std::function<void(const std::string& reason)> trigger_heartbeat = [](const std::string&) {};
  // Checks the repository of a project before `project.put` is applied. Blocks; called on a thread
  // that may.
  std::function<Decided<void>(const PutProject& command)> check_repository =
      signalbox::check_repository;
  // Looks at the repository that a run names. Blocks; called on a thread that may.
  FindRepositoryFault find_repository_fault = signalbox::find_repository_fault;
  CheckProject check_project = [](const Project&) {
    return boost::json::object{{"warnings", boost::json::array()},
                               {"not_checked", boost::json::array()}};
  };
  PlanFiles plan_files = nullptr;
  Handler redact = refuse_redaction;
  AuditParts audit{};
  DefaultPipeline default_pipeline = DefaultPipeline::workers;  // of runs that name none
  ReportParts reports{};
  std::optional<ForecastParts> forecasts = std::nullopt;  // nullopt: `what_if.run` refuses
  // Shared by the handlers. A service without a registry has none, and lists none.
  std::shared_ptr<RunnerParts> runners = std::make_shared<RunnerParts>();
  CellParts cell{};
};

// Returns the methods of all families below, which are the whole dispatch table.
std::vector<Method> all_methods(const MethodParts& parts);

std::vector<Method> run_methods(std::shared_ptr<KnownPipeline> known_pipeline,
                                const TraceResource& trace_resource,
                                std::shared_ptr<RunnerParts> runners,
                                FindRepositoryFault find_repository_fault);
std::vector<Method> strategy_methods();
std::vector<Method> station_methods(ClaimQueue& claims);
std::vector<Method> plan_methods();
std::vector<Method> step_methods(StepQueue& steps);
std::vector<Method> lock_methods(LockQueue& locks);
std::vector<Method> tick_methods();
std::vector<Method> loop_methods(const ServiceLoops& loops, const PlanFiles& plan_files);
std::vector<Method> project_methods(
    std::shared_ptr<KnownPipeline> known_pipeline,
    std::function<Decided<void>(const PutProject& command)> check_repository,
    CheckProject find_warnings);
std::vector<Method> card_methods(std::function<void(const std::string& reason)> trigger_heartbeat);
std::vector<Method> board_methods();
// What is known of the service itself, for the methods that say what waits for a person.
struct ServiceSources {
  std::vector<StatusPart> status_parts;
  const ServiceLoops& loops;
};
std::vector<Method> attention_methods(ServiceSources sources);
std::vector<Method> report_methods(ServiceSources sources, const ReportParts& parts);
std::vector<Method> what_if_methods(const std::optional<ForecastParts>& parts);
std::vector<Method> artifact_methods(Handler rebuild);
std::vector<Method> event_methods(EventFeed& feed, SubscribeAgentLogs subscribe_agent_logs);
std::vector<Method> history_methods();
std::vector<Method> state_methods();
std::vector<Method> server_methods(const MethodParts& parts);
std::vector<Method> pause_methods();
// Returns `server.whoami`, which names those of `others` that the caller may call.
Method whoami_method(const std::vector<Method>& others);
std::vector<Method> access_methods(const AccessParts& parts);
std::vector<Method> audit_methods(const AuditParts& parts);
std::vector<Method> log_methods(Handler redact);
std::vector<Method> runner_methods(std::shared_ptr<RunnerParts> parts);
std::vector<Method> cell_methods(const CellParts& parts);

}  // namespace signalbox
