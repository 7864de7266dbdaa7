// The parts of a kill sweep: clients of a server that is killed repeatedly, their record of what
// they sent, and the oracle that checks the log against that record.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "tests/crash/connection.h"
#include "tests/crash/sweep_history.h"

namespace signalbox::test {

struct SentCommand {
  std::string method;
  boost::json::object params;
};

struct AnsweredCommand {
  std::string command_id;
  SentCommand command;
  boost::json::object answer;
};

// The clients' record: every command before it is sent, and its answer when it arrived. It is part
// of the test process, which isn't killed. Any thread.
class SweepRecord {
 public:
  void sent(const std::string& command_id, const SentCommand& command) {
    const std::lock_guard lock(mutex_);
    sent_.emplace(command_id, command);
    history_.called(command_id, command.method, command.params);
  }
  void answered(const std::string& command_id, boost::json::object answer) {
    const std::lock_guard lock(mutex_);
    history_.answered(command_id, answer);
    answered_.push_back({command_id, sent_.at(command_id), std::move(answer)});
  }
  // Counts a command that is sent again because it got no answer (`code` is empty) or this error.
  void repeated(const std::string& code) {
    const std::lock_guard lock(mutex_);
    ++repeated_[code];
  }

  [[nodiscard]] std::optional<SentCommand> find_sent(const std::string& command_id) const {
    const std::lock_guard lock(mutex_);
    const auto place = sent_.find(command_id);
    if (place == sent_.end()) return std::nullopt;
    return place->second;
  }
  // Returns the answers from index `from` on, in order of arrival.
  [[nodiscard]] std::vector<AnsweredCommand> answers_from(std::size_t from) const {
    const std::lock_guard lock(mutex_);
    return {answered_.begin() + static_cast<std::ptrdiff_t>(from), answered_.end()};
  }
  [[nodiscard]] std::size_t sent_count() const {
    const std::lock_guard lock(mutex_);
    return sent_.size();
  }
  [[nodiscard]] std::size_t repeated_count() const {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& [code, times] : repeated_) count += times;
    return count;
  }
  // Returns how many were repeated because of this error; "" means no answer.
  [[nodiscard]] std::size_t repeated_count(const std::string& code) const {
    const std::lock_guard lock(mutex_);
    const auto place = repeated_.find(code);
    return place == repeated_.end() ? 0 : place->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, SentCommand> sent_;
  std::vector<AnsweredCommand> answered_;
  std::map<std::string, std::size_t> repeated_;
  SweepHistory history_;
};

// One of many clients: starts runs, claims, sends heartbeats, completes, fails, and repeats every
// command that wasn't answered with the same command id.
class SweepWorker {
 public:
  struct Plan {
    std::filesystem::path socket;
    std::filesystem::path count_file;  // jobs append a line to it for each execution
    std::size_t process_runs_max = 0;  // number of runs with jobs that this worker starts
  };

  SweepWorker(std::size_t number, std::uint64_t seed, Plan plan, SweepRecord& record);

  // Sends commands until `stop` is set and the command then in progress is answered.
  void run(const std::atomic<bool>& stop);

 private:
  struct Pending {
    std::string command_id;
    SentCommand command;
  };

  bool chance(int percent);
  SentCommand next_command();
  SentCommand start_run();
  SentCommand claim();
  SentCommand complete();
  void apply_answer(const boost::json::object& answer);

  std::string name_;
  std::mt19937_64 random_;
  Plan plan_;
  SweepRecord& record_;
  std::optional<Connection> connection_;
  std::optional<Pending> pending_;
  std::optional<boost::json::object> held_;  // the current claim
  bool nothing_ready_ = true;
  std::size_t commands_ = 0;
  std::size_t runs_ = 0;
  std::size_t process_runs_ = 0;
};

// The clients of a sweep, each on a thread of its own.
class SweepWorkers {
 public:
  // Only the first four workers start runs with jobs, as many as the plan permits.
  SweepWorkers(std::size_t count, std::uint64_t seed, const SweepWorker::Plan& plan,
               SweepRecord& record) {
    for (std::size_t number = 0; number < count; ++number) {
      SweepWorker::Plan own = plan;
      if (number >= 4) own.process_runs_max = 0;
      threads_.emplace_back([this, number, seed, own, &record] {
        SweepWorker(number, seed, own, record).run(stop_);
      });
    }
  }
  // Stops the clients; when it returns every command is answered. Blocks for as long as no server
  // answers.
  void finish() {
    stop_ = true;
    for (std::thread& each : threads_) {
      if (each.joinable()) each.join();
    }
  }
  ~SweepWorkers() { finish(); }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// Checks a log, read by `events.read`, against the record: acknowledged ⊆ recovered ⊆ sent. Also
// checks invariants on the order of events.
class SweepOracle {
 public:
  explicit SweepOracle(const SweepRecord& record) : record_(record) {}

  // Takes all answers recorded so far, reads the log on to its tail, and checks each against the
  // other. Mismatches fail the test. Returns false if the connection was lost.
  bool check(Connection& connection);

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::size_t answers_checked() const { return answers_checked_; }
  // Returns the ids of all jobs, from StationSubmitIntended.
  [[nodiscard]] const std::set<std::string>& jobs() const { return jobs_; }
  [[nodiscard]] std::size_t runs_succeeded() const { return runs_succeeded_; }
  // Returns how often the server was started.
  [[nodiscard]] std::size_t lives() const { return lives_; }

 private:
  struct Event {
    std::uint64_t position = 0;
    std::string type;
    std::string run_id;
    boost::json::object data;
  };
  struct RunState {
    std::uint64_t token = 0;  // of the attempt in progress; 0: none
    std::set<std::string> succeeded;
    bool ended = false;
  };

  void apply_event(const boost::json::object& json);
  void apply_run_event(const Event& event, std::uint64_t cause);
  void check_answer(const AnsweredCommand& answered) const;
  void check_completion(const AnsweredCommand& answered, const std::vector<Event>& events) const;
  static void check_claim(const boost::json::value& claim, const std::vector<Event>& events,
                          const std::string& about);

  const SweepRecord& record_;
  std::uint64_t position_ = 0;
  std::size_t answers_checked_ = 0;
  std::map<std::string, std::vector<Event>> by_command_;
  std::map<std::string, RunState> runs_;
  std::set<std::string> idempotency_keys_;
  std::set<std::string> jobs_;
  std::size_t runs_succeeded_ = 0;
  std::size_t lives_ = 0;
};

}  // namespace signalbox::test
