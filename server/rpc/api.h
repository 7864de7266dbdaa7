// The parts of the service that every method of the protocol may use. A part that only some methods
// need is passed to their family (methods/families.h). The server wires this struct; the parts are
// owned elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/ids.h"
#include "server/access/principal.h"
#include "server/followers/run_root/found_file.h"
#include "server/limits.h"
#include "server/platform/blocking_pool.h"
#include "server/runners/runner_wait.h"
#include "server/scheduler/job_troubles.h"

namespace signalbox {

class ArtifactStore;
class Clock;
class Engine;
class EventLog;
class IdSource;
class JobOwnership;
class PastReads;
class Projector;
class QueryTurns;
class Responder;
class Timers;
class RunRootRule;
struct Run;
struct StepState;

// Facts about this process that methods report. The limits are settings, which a reload changes.
struct ServerFacts {
  std::string data_directory;
  std::string socket_path;
  std::int64_t started_at_ns = 0;  // 0: not shown
  std::size_t jobs_max = 8;
  std::size_t remote_jobs_max = 32;
  std::size_t connections_max = signalbox::connections_max;
  std::size_t caller_connections_max = signalbox::caller_connections_max;
  // Names of the service's own loops, for answers of a process that drives none of them.
  std::vector<std::string> loops{};
};

// Calls `written` once the run root files that follow from the events up to `position` are written,
// with the error message, or "" if all were written. `written` may run on any thread.
using WhenFilesWritten =
    std::function<void(Position position, std::function<void(const std::string& error)> written)>;

// A query about a moment of the past, which its sender may make.
struct PastQuestion {
  std::string line;    // the request without the moment
  std::string moment;  // as find_moment() takes it
  Principal principal;
  bool has_place = false;  // one of the sender may wait however many do: see Lane::has_place
};

// A query about two moments of the past, which its sender may make, and what makes one answer of
// both.
struct PastComparison {
  std::string line;  // the request without a moment
  std::string from;  // a moment, as find_shown_moment() takes it
  std::string to;    // another one, not before it; empty: the end of the log
  Principal principal;
  bool has_place = false;  // as above
  // Returns the answer, of the results at the two moments. Called on a thread that may block.
  std::function<Decided<boost::json::object>(const boost::json::object& before,
                                             const boost::json::object& after)>
      compare;
};

struct Api {
  Engine& engine;
  EventLog& log;
  Projector& projector;
  ArtifactStore& artifacts;
  Timers& timers;
  Clock& clock;
  IdSource& ids;
  ServerFacts facts;
  BlockingPool blocking;      // files, with a lane for each run root
  BlockingPool repositories;  // git, with a lane for each repository
  BlockingPool log_readers;   // old events, with a lane for each caller
  Post post;                  // runs an action on the engine's thread
  WhenFilesWritten when_files_written;
  ReadFoundFile read_found_file;  // reads files that others may have put into run roots
  // Which run roots clients may name; nullptr: any, where nothing is written to the disk.
  std::shared_ptr<const RunRootRule> run_root_rule = nullptr;
  // Returns whether a retention of this process has dropped the run's records, or is about to.
  // nullptr: nothing is dropped meanwhile.
  std::function<bool(const RunId&)> is_dropped = nullptr;
  // Says whose jobs the log has; nullptr: none is executed here.
  std::shared_ptr<const JobOwnership> ownership = nullptr;
  // Return whether a retention removed files of the run: the first one reads the disk and may be
  // called on any thread that may block; the second one, on the engine thread, also knows of those
  // that are about to be removed. nullptr: none is removed.
  std::function<bool(const RunId&)> are_files_removed = nullptr;
  std::function<bool(const RunId&)> are_files_going = nullptr;
  // Returns the latest failed call of the executor for a job under way, or nullopt. Called on the
  // engine's thread. nullptr: none is known.
  std::function<std::optional<JobTrouble>(const std::string& job_id)> job_trouble = nullptr;
  // Renew the lease of a run's attempt, or of a step's, without a record. Return false if it has to
  // be recorded. nullptr: each renewal is.
  std::function<bool(const Run&)> renew_lease = nullptr;
  std::function<bool(const Run&, const StepState&)> renew_step_lease = nullptr;
  // Says why no runner executes a run's ready station now. Called on the engine's thread. nullptr:
  // this service has no runners.
  std::function<RunnerWait(const Run&)> why_no_runner = nullptr;
  // Fetches what a job at a runner has printed, if that can be asked, and says whether all that
  // there was is here then. Called on the engine's thread, as is `then`. nullptr: as of
  // why_no_runner.
  std::function<void(const std::string& runner, const std::string& job_id,
                     std::function<void(bool is_newest)> then)>
      fetch_output = nullptr;
  // Returns why this server takes no commands at present, since another one of its cell does or the
  // cell's log is away; nullopt: it takes them. nullptr: it is in no cell.
  std::function<std::optional<Rejection>()> refuses_commands = nullptr;
  // Returns why a run that failed at this position can't be retried at present: another server of
  // the cell has dropped old records, and this one hasn't yet. nullptr: it is in no cell.
  std::function<std::optional<Rejection>(Position failed_at)> holds_retry = nullptr;
  // Asks the store of objects that keeps artifacts; nullopt: they are files, read like others.
  std::optional<BlockingPool> artifact_store = std::nullopt;
  // Gives callers turns at the read models; nullptr: who asks first is answered first.
  std::shared_ptr<QueryTurns> query_turns = nullptr;
  PastReads* past = nullptr;  // set while the answer to a repeated command is made
  // Answers a question about the past, later. nullptr: this service answers about one moment only.
  std::function<void(PastQuestion question, const Responder& responder)> ask_past = nullptr;
  // Answers a question about two moments, later, with `from` and `to`, their positions. nullptr: as
  // of ask_past.
  std::function<void(PastComparison question, const Responder& responder)> compare_past = nullptr;
};

}  // namespace signalbox
