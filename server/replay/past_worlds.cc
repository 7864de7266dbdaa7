#include "server/replay/past_worlds.h"

#include <algorithm>
#include <utility>

#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "server/engine/moment.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/platform/clock.h"
#include "server/text/json_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Rejection too_many_questions() {
  return {ErrorCode::OVERLOADED,
          "too many queries about the past wait already; try again soon, or ask the data "
          "directory on the server's machine",
          {{"past_questions_max", static_cast<std::int64_t>(limits::past_questions_max)}},
          {"signalbox server limits"}};
}

Rejection no_past_world(const EventLog& log, const StoreError& error, Position at) {
  if (CallBounds::is_canceled()) {
    return {ErrorCode::SHUTTING_DOWN, error.message, {}, {"signalbox status"}};
  }
  switch (error.kind) {
    case StoreError::Kind::dropped:
      return history_dropped(log, error.position != 0 ? error.position : at);
    case StoreError::Kind::full:
    case StoreError::Kind::io:
      return {ErrorCode::STORAGE_FULL,
              "the disk doesn't take or give the rows of that moment: " + error.message,
              {{"disk_error", error.message}},
              {"df -h", "signalbox status"}};
    default:
      return {ErrorCode::STORAGE_DAMAGED, error.message, {}, {"signalbox replay --verify"}};
  }
}

}  // namespace

PastWorlds::PastWorlds(Parts parts)
    : parts_(std::move(parts)),
      history_(parts_.log, parts_.data / "projections" / "past", parts_.intervals) {}

PastWorlds::~PastWorlds() { forget_all(); }

void PastWorlds::run(const Responder& responder, const std::string& caller, bool has_place,
                     Work work) {
  const bool is_full = waiting_.size() >= limits::past_questions_max;
  if (is_full && (!has_place || waiting_.contains(caller))) {
    return responder.reject(too_many_questions());
  }
  waiting_.insert(caller);
  Present present{parts_.clock.wall_ns(),
                  parts_.present ? std::optional(parts_.present()) : std::nullopt};
  parts_.pool.run({.name = "the past for " + caller},
                  [this, caller, work = std::move(work),
                   present = std::move(present)]() -> std::function<void()> {
                    return [this, caller, then = work(present)] {
                      waiting_.erase(waiting_.find(caller));
                      then();
                    };
                  });
}

void PastWorlds::ask(PastQuestion question, const Responder& responder) {
  const std::string caller = question.principal.actor;
  const bool has_place = question.has_place;
  run(responder, caller, has_place,
      [this, question = std::move(question),
       responder](const Present& present) -> std::function<void()> {
        return [responder, line = answer(question, present)]() mutable {
          if (!line) return responder.reject(line.error());
          responder.relay(std::move(*line));
        };
      });
}

void PastWorlds::compare(PastComparison question, const Responder& responder) {
  const std::string caller = question.principal.actor;
  const bool has_place = question.has_place;
  run(responder, caller, has_place,
      [this, question = std::move(question),
       responder](const Present& present) -> std::function<void()> {
        auto compared = answer(question, present);
        const Position shown = compared ? compared->at("to").to_number<Position>() : 0;
        return responder.prepare(std::move(compared), shown);
      });
}

Decided<std::string> PastWorlds::answer(const PastQuestion& question, const Present& present) {
  const std::lock_guard lock(mutex_);
  const auto at = TRY(find_shown_moment(parts_.log, question.moment, present.now_ns));
  return answer_at(at, question.line, question.principal, present);
}

Decided<json::object> PastWorlds::answer(const PastComparison& question, const Present& present) {
  const std::lock_guard lock(mutex_);
  const auto from = TRY(find_shown_moment(parts_.log, question.from, present.now_ns));
  const auto to =
      TRY(question.to.empty() ? Decided<Position>(parts_.log.tail())
                              : find_shown_moment(parts_.log, question.to, present.now_ns));
  if (to < from) {
    return reject(ErrorCode::INVALID_PARAMS, "to must not be before from",
                  {{"field", std::string("to")}});
  }
  const auto before = TRY(result_at(from, question, present));
  const auto after = TRY(result_at(to, question, present));
  auto result = TRY(question.compare(before, after));
  result["from"] = from;
  result["to"] = to;
  return result;
}

Decided<json::object> PastWorlds::result_at(Position at, const PastComparison& question,
                                            const Present& present) {
  const auto line = TRY(answer_at(at, question.line, question.principal, present));
  json::object answered = parse_own_answer(line);
  if (json::value* const result = answered.if_contains("result")) {
    return std::move(result->as_object());
  }
  return reject(ErrorCode::INTERNAL,
                "the state at " + std::to_string(at) + " can't be read: " +
                    std::string(answered.at("error").at("message").as_string()),
                {}, {"signalbox replay --verify"});
}

Decided<std::string> PastWorlds::answer_at(Position at, const std::string& line,
                                           const Principal& principal, const Present& present) {
  auto world = world_at(at);
  if (!world) return tl::unexpected(no_past_world(parts_.log, world.error(), at));
  if (present.facts) (*world)->show(*present.facts);
  auto answered = (*world)->answer(line, principal);
  if (answered) return std::move(*answered);
  return reject(ErrorCode::INTERNAL, "the query isn't answered about the past", {},
                {"signalbox rpc server.status"});
}

Stored<PastService*> PastWorlds::world_at(Position at) {
  const Position horizon = parts_.log.horizon().position;
  if (std::exchange(horizon_, horizon) != horizon) forget_all();
  // The latest world that isn't later than the moment and hasn't come far from its beginning.
  Remembered* nearest = nullptr;
  for (Remembered& each : worlds_) {
    const Position position = each.service->position();
    if (position > at || at - each.begun > limits::past_forward_events_max) continue;
    if (nearest == nullptr || position > nearest->service->position()) nearest = &each;
  }
  if (nearest == nullptr) return open(at);
  nearest->asked = ++questions_;
  if (auto advanced = nearest->service->advance(at); !advanced) {
    std::erase_if(worlds_, [nearest](const Remembered& each) { return &each == nearest; });
    return tl::unexpected(std::move(advanced.error()));
  }
  return nearest->service.get();
}

Stored<PastService*> PastWorlds::open(Position at) {
  if (worlds_.size() >= limits::past_worlds_max) {
    worlds_.erase(std::ranges::min_element(worlds_, {}, &Remembered::asked));
  }
  auto start = history_.start_of(at);
  if (!start) {
    forget_all();  // the history may be half computed, and the worlds' rows are of it
    return tl::unexpected(std::move(start.error()));
  }
  auto service = TRY(PastService::open(parts_.log, parts_.data, at, std::move(start->world),
                                       std::move(start->rows), parts_.artifacts));
  return worlds_.emplace_back(Remembered{std::move(service), at, ++questions_}).service.get();
}

void PastWorlds::forget_all() {
  worlds_.clear();
  history_.forget();
}

void PastWorlds::forget() {
  const std::lock_guard lock(mutex_);
  forget_all();
}

std::vector<Position> PastWorlds::remembered() {
  const std::lock_guard lock(mutex_);
  std::vector<Position> positions;
  for (const Remembered& world : worlds_) positions.push_back(world.service->position());
  std::ranges::sort(positions);
  return positions;
}

}  // namespace signalbox
