// Judges a log, as `events.read` tells it, by the client's book: acknowledged ⊆ recovered ⊆ sent,
// and nothing in it happened that must never happen.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tests/crash/connection.h"
#include "tests/crash/sweep_record.h"

namespace signalbox::test {

class SweepOracle {
 public:
  explicit SweepOracle(const SweepRecord& record) : record_(record) {}

  // Takes every answer there is by now, reads the log on to its tail, and checks the one by the
  // other. Fails the test with what is wrong. False if the connection was lost.
  bool check(Connection& connection);

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::size_t answers_checked() const { return answers_checked_; }
  // Jobs by their id, from StationSubmitIntended.
  [[nodiscard]] const std::set<std::string>& jobs() const { return jobs_; }
  [[nodiscard]] std::size_t runs_succeeded() const { return runs_succeeded_; }
  [[nodiscard]] std::size_t lives() const { return lives_; }

 private:
  struct Event {
    std::uint64_t position = 0;
    std::string type;
    std::string run_id;
    boost::json::object data;
  };
  struct RunState {
    std::uint64_t token = 0;  // of the attempt under way
    std::set<std::string> succeeded;
    bool ended = false;
  };

  void take_event(const boost::json::object& json);
  void take_run_event(const Event& event, std::uint64_t cause);
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
