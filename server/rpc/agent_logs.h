// Tells subscribers what agents print while they run: excerpts of the logs of `process` and
// `coderunner` jobs, bounded for each second and each subscriber. They are no events; what was
// passed over isn't told later.
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
    std::filesystem::path jobs;  // the directory of the jobs' directories
    // The runs with a job under way.
    std::function<std::vector<RunId>()> runs_with_jobs;
    Post to_files;        // a thread that may block
    Post to_engine;       // the engine's thread, in the order of the calls
    Post after_interval;  // likewise, after limits::agent_log_interval_ms_min
  };

  explicit AgentLogs(Context context);

  // Of one run, or of all whose projects' policies want broadcasts. The engine's thread.
  void subscribe(std::shared_ptr<Peer> peer, std::string subscription, std::optional<RunId> run_id);

  // The job is over, which the engine isn't told yet: so what it printed last comes before that.
  // Any thread.
  void finish(const Job& job);

 private:
  struct Subscriber {
    std::shared_ptr<Peer> peer;
    std::string subscription;
    std::optional<RunId> run_id;
    bool joined = false;  // has had what was there before it came
    std::int64_t second_began_ns = 0;
    std::size_t bytes_this_second = 0;
  };

  void look();
  void sweep();
  [[nodiscard]] std::vector<FollowedJob> followed(const std::optional<std::set<RunId>>& only) const;
  [[nodiscard]] bool is_silent(const RunId& run_id) const;
  // Notification parameters without the subscription; nothing if its attempt is over.
  [[nodiscard]] std::optional<boost::json::object> params_of(const LogExcerpt& excerpt) const;
  void send(Subscriber& subscriber, const std::vector<LogExcerpt>& excerpts);
  void send_live(const std::vector<LogExcerpt>& excerpts);
  void send_backlog(const std::string& subscription, const std::vector<LogExcerpt>& excerpts);

  const Context context_;
  AgentLogReader reader_;
  std::vector<Subscriber> subscribers_;
  bool looking_ = false;  // now, or after the interval
};

}  // namespace signalbox
