#include "server/rpc/command_call.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "domain/refusals.h"
#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/limits.h"
#include "server/rpc/past_reads.h"
#include "server/rpc/read_models.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Answers once the files that follow from the events up to `position`, which is durable, are
// written.
void answer_when_written(Api& api, const Responder& responder, Position position,
                         const Decided<boost::json::object>& outcome) {
  api.when_files_written(position, [&api, responder, outcome](const std::string& error) {
    api.post([responder, outcome, error] {
      Decided<boost::json::object> answer = outcome;
      if (answer && !error.empty()) (*answer)["files_error"] = error;
      // The command is durable already. If what was recorded since is rolled back on a full disk,
      // the answer mustn't say that the command was refused.
      Responder durable = responder;
      durable.when_rolled_back([responder, answer] { responder.answer(answer); });
      durable.answer(std::move(answer));
    });
  });
}

// An answer that is made again.
struct RepeatedAnswer {
  RepeatedAnswer(Api& service, Responder to, ResultOf result, Commit records)
      : api(service), responder(std::move(to)), result_of(result), commit(std::move(records)) {
    api.past = &past;
  }

  PastReads past;
  Api api;  // with `past`
  Responder responder;
  ResultOf result_of;
  Commit commit;
};

void answer_again(Api& api, const std::shared_ptr<RepeatedAnswer>& answer) {
  json::object result = answer->result_of(answer->api, answer->commit);
  if (!answer->past.complete()) {
    return api.log_readers.run({.name = "repeated commands"},
                               [&api, answer]() -> std::function<void()> {
                                 answer->past.read();
                                 return [&api, answer] { answer_again(api, answer); };
                               });
  }
  result["replayed"] = true;
  // The first answer may still be waiting for its files, and this one promises them as well.
  answer_when_written(api, answer->responder, answer->commit.back().position, std::move(result));
}

Rejection conflict_of(const std::string& command_id, Position first, const char* message) {
  return {ErrorCode::IDEMPOTENCY_CONFLICT,
          message,
          {{"command_id", command_id}, {"position", static_cast<std::int64_t>(first)}},
          {"signalbox events --from " + std::to_string(first) + " --limit 1"}};
}

// Its answer is only for who gave the command: ids can be read in the log.
bool is_by_same_caller(const Commit& commit, Position position, const Origin& origin) {
  const auto record = std::ranges::find(commit, position, &Record::position);
  return record != commit.end() && !record->actor.empty() &&
         (record->actor == origin.actor || record->actor == origin.former_actor);
}

}  // namespace

bool answered_before(Api& api, Call& call, ResultOf result_of) {
  if (call.origin.command_id.empty()) return false;
  const RememberedCommand* first = api.engine.world().commands.find(call.origin.command_id);
  if (first == nullptr) return false;
  if (first->request_digest != call.origin.request_digest) {
    call.responder.reject(conflict_of(call.origin.command_id, first->position,
                                      "this command_id stands for another command"));
    return true;
  }
  // The first command may not be durable yet, and can't be read from the log before that.
  api.engine.release_when_durable([&api, responder = call.responder, result_of,
                                   origin = call.origin,
                                   position = first->position](Durability durability) {
    if (durability != Durability::durable) {
      return responder.reject({ErrorCode::UNKNOWN_OUTCOME,
                               "the first command of this id has no known outcome yet",
                               {},
                               {"signalbox rpc server.status"}});
    }
    auto commit = api.log.read_commit(position);
    if (!commit && commit.error().kind == StoreError::Kind::dropped) {
      return responder.reject(history_dropped(api.log, position));
    }
    if (!commit) {
      return responder.reject(
          {ErrorCode::STORAGE_DAMAGED, commit.error().message, {}, {"signalbox replay"}});
    }
    if (!is_by_same_caller(*commit, position, origin)) {
      return responder.reject(conflict_of(
          origin.command_id, position, "this command_id stands for a command of another caller"));
    }
    answer_again(api,
                 std::make_shared<RepeatedAnswer>(api, responder, result_of, std::move(*commit)));
  });
  return true;
}

Rejection with_ended_run(Api& api, Rejection rejection) {
  if (rejection.code != ErrorCode::RUN_NOT_FOUND || rejection.details.empty()) return rejection;
  const auto* text = std::get_if<std::string>(&rejection.details.front().value);
  const auto id = text != nullptr ? parse_uuid(*text) : std::nullopt;
  if (!id) return rejection;
  const auto row = api.projector.index().find(*id);
  // The read models can't say at present whether the run has ended.
  if (!row && row.error().kind == StoreError::Kind::rebuilding) {
    return read_models_behind(api, row.error());
  }
  if (!row || !*row) return rejection;
  return {ErrorCode::RUN_TERMINAL,
          "run " + *text + " has ended: " + name_of((*row)->status),
          {{"run_id", *text}, {"status", std::string(name_of((*row)->status))}},
          {"signalbox run get " + *text}};
}

Decided<json::object> outcome_of(Api& api, const Origin& origin, const Command& command,
                                 ResultOf result_of,
                                 const std::function<json::object()>& unchanged) {
  auto transaction = api.engine.begin(origin);
  const auto applied = transaction.apply(command);
  if (!applied) return tl::unexpected(with_ended_run(api, applied.error()));
  if (*applied == 0 && unchanged) return unchanged();
  return result_of(api, transaction.records());
}

void apply_command(Api& api, Call& call, const Command& command, ResultOf result_of) {
  if (answered_before(api, call, result_of)) return;
  call.responder.answer(outcome_of(api, call.origin, command, result_of));
}

Rejection run_root_hangs(const std::string& run_root) {
  return {ErrorCode::OVERLOADED,
          "the run root " + run_root + " didn't answer within " +
              std::to_string(limits::run_root_read_ms_max) +
              " ms, or too many requests wait for it; look for a disk that hangs",
          {{"run_root", run_root}, {"run_root_read_ms_max", limits::run_root_read_ms_max}},
          {"timeout 10 ls " + shell_word(run_root)}};
}

void answer_with_files(Api& api, const Responder& responder, Decided<boost::json::object> outcome) {
  const Position position = api.engine.world().position;
  api.engine.release_when_durable(
      [&api, responder, position, outcome = std::move(outcome)](Durability durability) {
        // No files are written for events that aren't durable.
        if (durability != Durability::durable) {
          return responder.reject(not_durable(api.engine, durability));
        }
        answer_when_written(api, responder, position, outcome);
      });
}

}  // namespace signalbox
