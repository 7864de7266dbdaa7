// Sends subscribers what agents print while they run: excerpts of the logs of `process` and
// `coderunner` jobs, limited in bytes per second and subscriber. Excerpts are no events: one that
// was skipped is never sent later.
//
// Without a subscriber nothing is read and nothing is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/engine/engine.h"
#include "server/executors/agent_log_reader.h"
#include "server/executors/executor.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/rpc/peer.h"

namespace signalbox {

inline constexpr std::string_view agent_log_name = "agent.log";

class AgentLogs {
 public:
  struct Context {
    const Engine& engine;
    const Clock& clock;
    std::filesystem::path jobs;  // the directory that contains the jobs' directories
    // Returns the runs that have a job under way.
    std::function<std::vector<RunId>()> runs_with_jobs;
    Post to_files;        // runs an action on a thread that may block
    Post to_engine;       // runs actions on the engine's thread, in the order of the calls
    Post after_interval;  // as to_engine, but after limits::agent_log_interval_ms_min
  };

  explicit AgentLogs(Context context);

  // Subscribes `peer` to one run, or without `run_id` to all runs whose projects' policies want
  // broadcasts. Called on the engine's thread.
  void subscribe(std::shared_ptr<Peer> peer, std::string subscription, std::optional<RunId> run_id);

  // Delivers the rest of the log of a job that has ended. Called before the engine is notified of
  // the end, so that the last output is sent before that event. Thread-safe.
  void finish(const Job& job);

 private:
  struct Subscriber {
    std::shared_ptr<Peer> peer;
    std::string subscription;
    std::optional<RunId> run_id;
    bool joined = false;  // has received the backlog; live excerpts may follow
    std::int64_t second_began_ns = 0;
    std::size_t bytes_this_second = 0;
  };

  void poll();
  void drop_closed();
  [[nodiscard]] std::vector<FollowedJob> followed(const std::optional<std::set<RunId>>& only) const;
  [[nodiscard]] bool is_silent(const RunId& run_id) const;
  // Returns the notification's params without the subscription; nullopt if the attempt is over.
  [[nodiscard]] std::optional<boost::json::object> params_of(const LogExcerpt& excerpt) const;
  void send(Subscriber& subscriber, const std::vector<LogExcerpt>& excerpts);
  void send_live(const std::vector<LogExcerpt>& excerpts);
  void send_backlog(const std::string& subscription, const std::vector<LogExcerpt>& excerpts);

  const Context context_;
  AgentLogReader reader_;
  std::vector<Subscriber> subscribers_;
  bool polling_ = false;  // a poll is in progress or scheduled
};

}  // namespace signalbox
