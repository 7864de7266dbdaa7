#include "tests/simulation/answer_judge.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

std::string text_in(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

// Returns 0 for a number that isn't there or is hidden.
Position number_in(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_number() ? value->to_number<Position>() : 0;
}

bool is_null_in(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr || value->is_null();
}

bool shows_end(const json::object& result, const ModelEndedLock& last) {
  if (is_null_in(result, "last")) return last.token == 0;
  const json::object& shown = result.at("last").as_object();
  return text_in(shown, "owner") == last.owner && number_in(shown, "token") == last.token &&
         text_in(shown, "ended") == (last.expired ? "expired" : "released") &&
         number_in(shown, "ended_position") == last.ended_at;
}

// Of those that are judged: what they show is the state after the position of their answer.
bool is_query(const std::string& method) {
  return method.ends_with(".get") || method.ends_with(".list");
}

}  // namespace

void AnswerJudge::wrong(const Question& question, const std::string& what) {
  environment_.violate("the answer to " + question.id + " (" + question.sent.method +
                       ") isn't what the log says at " + std::to_string(question.from) + " to " +
                       std::to_string(question.to) + ": " + what);
}

void AnswerJudge::answered(const std::string& id, const json::object& answer) {
  const SentCommand* sent = book_.find(id);
  const auto arrival = arrivals_.find(id);
  if (sent == nullptr || arrival == arrivals_.end()) return;
  const Question question{id, *sent, arrival->second, model_.tail()};
  ++judged_;
  if (const json::value* result = answer.if_contains("result")) {
    return judge_result(question, result->as_object());
  }
  const json::object& error = answer.at("error").as_object();
  if (!error.contains("data")) return;
  const json::object& data = error.at("data").as_object();
  const json::value* details = data.if_contains("details");
  judge_refusal(question, text_in(data, "code"),
                details == nullptr ? json::object() : details->as_object());
}

void AnswerJudge::listed(const std::string& id, const std::string& method,
                         const json::object& result) {
  const SentCommand sent{method, {}, 0, std::nullopt};
  const Position position = number_in(result, "position");
  const Question question{id, sent, position, position};
  ++judged_;
  if (position > model_.tail()) return wrong(question, "that isn't durable");
  judge_result(question, result);
}

void AnswerJudge::judge_result(const Question& question, const json::object& result) {
  const std::string& method = question.sent.method;
  if (is_query(method) && result.contains("position") &&
      number_in(result, "position") < question.from) {
    return wrong(question, "position " + std::to_string(question.from) +
                               " was durable when it was asked for");
  }
  if (method == "lock.get") return judge_lock(question, result);
  if (method == "lock.list") return judge_locks(question, result);
  if (method == "tick.list") return judge_ticks(question, result);
  if (method == "run.list") return judge_runs(question, result);
  if (method == "run.get") return judge_run(question, result.at("run").as_object());
  if (method == "card.get") return judge_card(question, result.at("card").as_object());
  if (method != "card.list") return;
  const json::array& cards = result.at("cards").as_array();
  for (const json::value& row : cards) judge_card(question, row.as_object());
}

bool AnswerJudge::shows(const json::value& shown, const ModelLock& lock) const {
  if (shown.is_null()) return lock.token == 0;
  const json::object& row = shown.as_object();
  const std::string status = text_in(row, "status");
  return lock.token != 0 && number_in(row, "token") == lock.token &&
         text_in(row, "owner") == lock.owner && text_in(row, "reason") == lock.reason &&
         text_in(row, "run_root") == lock.run_root &&
         number_in(row, "lease_ms") == static_cast<Position>(lock.lease_ms) &&
         text_in(row, "acquired_at") == format_time(lock.acquired_at_ns) &&
         (status == "held" || status == "expired");
}

// What is shown of locks is the state after the position that the answer names.
void AnswerJudge::judge_lock(const Question& question, const json::object& result) {
  const std::string key = text_in(question.sent.params, "key");
  const ModelLock& lock = model_.lock(key).at(number_in(result, "position"));
  if (!shows(result.at("lock"), lock) || !shows_end(result, lock.last)) {
    wrong(question, json::serialize(result));
  }
}

void AnswerJudge::judge_locks(const Question& question, const json::object& result) {
  const Position position = number_in(result, "position");
  const json::array& rows = result.at("locks").as_array();
  std::size_t held = 0;
  for (const auto& each : model_.locks()) {
    const std::string& key = each.first;
    const ModelLock& lock = each.second.at(position);
    if (lock.token == 0) continue;
    ++held;
    const bool is_shown = std::any_of(rows.begin(), rows.end(), [&](const json::value& row) {
      return text_in(row.as_object(), "key") == key && shows(row, lock);
    });
    if (!is_shown) wrong(question, "lock " + key + " is held by " + lock.owner);
  }
  if (held != rows.size()) wrong(question, std::to_string(held) + " locks are held");
}

// The open ticks are those after one moment, and all of them.
void AnswerJudge::judge_ticks(const Question& question, const json::object& result) {
  std::map<std::string, ModelTick> shown;
  const json::array& rows = result.at("open").as_array();
  for (const json::value& each : rows) {
    const json::object& row = each.as_object();
    shown[text_in(row, "loop")] = {text_in(row, "status"), number_in(row, "token")};
  }
  const auto is_state_after = [&](Position position) {
    std::size_t open = 0;
    for (const auto& [loop, versions] : model_.ticks()) {
      const ModelTick& tick = versions.at(position);
      if (tick.status.empty()) continue;
      ++open;
      const auto place = shown.find(loop);
      if (place == shown.end() || place->second != tick) return false;
    }
    return open == shown.size() && number_in(result, "open_total") == open;
  };
  const std::vector<Position> moments = model_.tick_moments(question.from, question.to);
  if (std::none_of(moments.begin(), moments.end(), is_state_after)) {
    wrong(question, json::serialize(rows));
  }
}

void AnswerJudge::judge_runs(const Question& question, const json::object& result) {
  std::size_t started = 0;
  const json::array& rows = result.at("runs").as_array();
  for (const json::value& row : rows) judge_run(question, row.as_object());
  for (const auto& [id, versions] : model_.runs()) {
    if (environment_.dropped.runs.contains(id)) continue;
    started += versions.first() <= question.from ? 1 : 0;
  }
  if (is_null_in(result, "next_cursor") && rows.size() < started) {
    wrong(question, "there are " + std::to_string(started) + " runs");
  }
}

void AnswerJudge::judge_run(const Question& question, const json::object& row) {
  const Versions<ModelRun>& versions = model_.run(text_in(row, "run_id"));
  const bool is_true = versions.any_of(question.from, question.to, [&row](const ModelRun& run) {
    return text_in(row, "status") == run.status && number_in(row, "last_position") == run.last &&
           !run.status.empty();
  });
  if (is_true) return;
  const ModelRun& run = versions.latest();
  wrong(question, "run " + text_in(row, "run_id") + " is shown as " + text_in(row, "status") +
                      " at " + std::to_string(number_in(row, "last_position")) + ", and is " +
                      run.status + " at " + std::to_string(run.last));
}

void AnswerJudge::judge_card(const Question& question, const json::object& row) {
  const Versions<ModelCard>& versions = model_.card(text_in(row, "card_id"));
  const bool is_true = versions.any_of(question.from, question.to, [&row](const ModelCard& card) {
    return text_in(row, "status") == card.status && !card.status.empty() &&
           number_in(row, "changed_position") == card.last &&
           text_in(row, "run_id") == card.run_id && text_in(row, "project") == card.project &&
           text_in(row, "title") == card.title && text_in(row, "key") == card.key &&
           row.at("priority").to_number<std::int32_t>() == card.priority;
  });
  if (is_true) return;
  const ModelCard& card = versions.latest();
  wrong(question, "card " + text_in(row, "card_id") + " is shown as " + text_in(row, "status") +
                      " at " + std::to_string(number_in(row, "changed_position")) + ", and is " +
                      card.status + " at " + std::to_string(card.last));
}

template <class Fits>
bool AnswerJudge::any_run(const Question& question, Fits&& fits) const {
  return model_.run(text_in(question.sent.params, "run_id"))
      .any_of(question.from, question.to, fits);
}

void AnswerJudge::judge_refusal(const Question& question, const std::string& code,
                                const json::object& details) {
  bool is_true = true;
  if (code == "LOCK_HELD") {
    is_true = is_held(question, details);
  } else if (code == "LOCK_NOT_OWNED" || code == "STALE_TOKEN") {
    is_true = is_token_over(question, "token");
  } else if (code == "LOCK_LOST") {
    is_true = is_token_over(question, "lock_token");
  } else if (code == "TICK_IN_PROGRESS" || code == "PREVIOUS_TICK_INCOMPLETE") {
    is_true = is_tick_open(question, code, details);
  } else if (code == "RUN_NOT_FOUND") {
    // The world forgets runs that have ended, and only those may be dropped.
    is_true = any_run(question,
                      [](const ModelRun& run) { return run.status.empty() || run.is_terminal(); });
  } else if (code == "RUN_TERMINAL") {
    is_true = any_run(question, [](const ModelRun& run) { return run.is_terminal(); });
  } else if (code == "RUN_NOT_FAILED") {
    is_true = any_run(question, [](const ModelRun& run) { return run.status != "failed"; });
  } else if (code == "STATION_NOT_CLAIMED") {
    is_true = any_run(question, [](const ModelRun& run) { return run.holder == 0; });
  } else if (code == "CARD_NOT_FOUND") {
    is_true = model_.card(text_in(question.sent.params, "card_id"))
                  .any_of(question.from, question.to, [](const ModelCard& card) {
                    return card.status.empty() || card.status == "merged";
                  });
  } else if (code == "HISTORY_DROPPED") {
    is_true = is_dropped(question);
  }
  if (!is_true) wrong(question, "it is refused: " + code + " " + json::serialize(details));
}

// G17: what was dropped is the command's own first result, or its run or card. A failed run is
// refused as soon as its drop is decided.
bool AnswerJudge::is_dropped(const Question& question) const {
  const DroppedHistory& dropped = environment_.dropped;
  const std::string run_id = text_in(question.sent.params, "run_id");
  if (question.sent.method == "run.retry" && dropped.going.contains(run_id)) return true;
  return dropped.commands.contains(question.id) || dropped.runs.contains(run_id) ||
         dropped.cards.contains(text_in(question.sent.params, "card_id"));
}

// A lock that only a `.lock` file knows is no matter of the log, but then nobody else holds it.
bool AnswerJudge::is_held(const Question& question, const json::object& details) const {
  const bool by_file = details.contains("lock_file");
  const bool is_hidden = is_null_in(details, "token");  // from callers that may only look
  const Token token = number_in(details, "token");
  const std::string owner = text_in(details, "owner");
  return model_.lock(text_in(question.sent.params, "key"))
      .any_of(question.from, question.to, [&](const ModelLock& lock) {
        if (by_file) return lock.token == 0;
        return lock.token != 0 && lock.owner == owner && (is_hidden || lock.token == token);
      });
}

bool AnswerJudge::is_token_over(const Question& question, const char* param) const {
  const Token token = number_in(question.sent.params, param);
  return !model_.is_used_throughout(token, question.from, question.to);
}

bool AnswerJudge::is_tick_open(const Question& question, const std::string& code,
                               const json::object& details) const {
  const json::object& params = question.sent.params;
  const Token token = number_in(details, "token");
  // Loops that work in one run root share its marker; one's own tick comes first.
  const Versions<ModelTick>& own = model_.tick(text_in(params, "loop"));
  const std::string loop = text_in(details, "loop");
  const bool is_own = loop == text_in(params, "loop");
  if (!is_own &&
      !model_.is_tick_at(token, text_in(params, "run_root"), text_in(params, "run_id"))) {
    return false;
  }
  const Versions<ModelTick>& versions = model_.tick(loop);
  const std::string evidence = text_in(details, "evidence");
  const std::vector<Position> moments = model_.tick_moments(question.from, question.to);
  return std::any_of(moments.begin(), moments.end(), [&](Position position) {
    const ModelTick& tick = versions.at(position);
    if (tick.token != token || (!is_own && !own.at(position).status.empty())) return false;
    if (code == "PREVIOUS_TICK_INCOMPLETE") return is_incomplete(tick, evidence, position);
    return tick.status == (token == 0 ? "" : "running");
  });
}

// A tick that was running when the service started is incomplete from then on.
bool AnswerJudge::is_incomplete(const ModelTick& tick, const std::string& evidence,
                                Position position) const {
  if (evidence == "halted") return tick.status == "halted";
  if (evidence == "lease_over") return tick.status == "timed_out";
  if (evidence == "earlier_incarnation") {
    return tick.status == "running" && tick.token < model_.start_before(position);
  }
  return tick.status.empty();  // by a marker
}

}  // namespace signalbox::simulation
