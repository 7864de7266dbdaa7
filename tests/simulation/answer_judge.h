// Judges answers by the log alone: what a query shows, and why a request is refused, has to be true
// after some position between the arrival of the request and its answer. L2 T3 T4 S3
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/json/object.hpp>

#include "tests/simulation/command_book.h"
#include "tests/simulation/log_model.h"

namespace signalbox::simulation {

class AnswerJudge {
 public:
  AnswerJudge(Environment& environment, const CommandBook& book)
      : environment_(environment), book_(book) {}

  // Follows the next durable record.
  void read(const Record& record) { model_.read(record); }
  // Notes that a request has reached the server.
  void arrived(const std::string& id) { arrivals_.try_emplace(id, model_.tail()); }
  // Forgets the requests: the server that they reached is gone.
  void server_gone() { arrivals_.clear(); }
  // Judges an answer that leaves for a client.
  void answered(const std::string& id, const boost::json::object& answer);
  // Judges a list that somebody follows from: it has to be the state after the position that it
  // names, and no other.
  void listed(const std::string& id, const std::string& method, const boost::json::object& result);

  [[nodiscard]] std::uint64_t judged() const { return judged_; }

 private:
  // A request, and the positions after which its answer may have been made.
  struct Question {
    const std::string& id;
    const SentCommand& sent;
    Position from;
    Position to;
  };

  void judge_result(const Question& question, const boost::json::object& result);
  void judge_lock(const Question& question, const boost::json::object& result);
  void judge_locks(const Question& question, const boost::json::object& result);
  void judge_ticks(const Question& question, const boost::json::object& result);
  void judge_runs(const Question& question, const boost::json::object& result);
  void judge_run(const Question& question, const boost::json::object& row);
  void judge_card(const Question& question, const boost::json::object& row);
  [[nodiscard]] bool shows(const boost::json::value& shown, const ModelLock& lock) const;

  void judge_refusal(const Question& question, const std::string& code,
                     const boost::json::object& details);
  // Return whether the reason of the refusal was true.
  [[nodiscard]] bool is_held(const Question& question, const boost::json::object& details) const;
  [[nodiscard]] bool is_token_over(const Question& question, const char* param) const;
  [[nodiscard]] bool is_tick_open(const Question& question, const std::string& code,
                                  const boost::json::object& details) const;
  [[nodiscard]] bool is_incomplete(const ModelTick& tick, const std::string& evidence,
                                   Position position) const;
  [[nodiscard]] bool is_dropped(const Question& question) const;
  template <class Fits>
  [[nodiscard]] bool any_run(const Question& question, Fits&& fits) const;

  void wrong(const Question& question, const std::string& what);

  Environment& environment_;
  const CommandBook& book_;
  LogModel model_;
  std::uint64_t judged_ = 0;
  std::map<std::string, Position> arrivals_;  // by request id: the tail when it first arrived
};

}  // namespace signalbox::simulation
