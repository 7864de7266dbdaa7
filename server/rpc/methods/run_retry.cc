#include "server/rpc/methods/run_methods.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "domain/refusals.h"
#include "domain/run_retry.h"
#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/followers/recorded_run.h"
#include "server/rpc/command_call.h"
#include "server/rpc/read_models.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::object retry_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    const auto* retried = event_as<RunRetried>(record.event);
    if (retried == nullptr) continue;
    const auto place = std::find_if(records.begin(), records.end(), [](const Record& each) {
      return event_as<StationHeld>(each.event) != nullptr;
    });
    result["run_id"] = to_string(record.stream.run_id);
    result["status"] = name_of(RunStatus::running);
    result["station"] = retried->station;
    result["station_status"] =
        name_of(place == records.end() ? StationStatus::pending : StationStatus::waiting);
    result["strategy"] = name_of(retried->strategy);
    result["retried_position"] = record.position;
  }
  return result;
}

Rejection files_removed(const RunId& run_id) {
  const std::string text = to_string(run_id);
  return {ErrorCode::FILES_REMOVED,
          "run " + text +
              " failed longer ago than retention.files_failed_runs, and its files were removed by "
              "the retention, so it can't be retried any more",
          {{"run_id", text}},
          {"signalbox run get " + text}};
}

// Completes the command from the log, with the failed run that the world may have forgotten.
// CARD_BUSY, RUN_NOT_FAILED, FILES_REMOVED or unreadable(). Called on the projector's thread.
Decided<RetryRun> with_history(const Api& api, const RunIndex& index, RetryRun command) {
  const auto row = index.find(command.run_id);
  if (!row) return unreadable(row.error());
  if (!*row) return command;  // decide() rejects it
  // The run may be an earlier one of a card; the board has only the card's present run.
  const auto card = index.cards().find_by_run(command.run_id);
  if (!card) return unreadable(card.error());
  if (*card) {
    return tl::unexpected(run_is_of_card(command.run_id, (*card)->card_id, (*card)->status));
  }
  if ((*row)->status != RunStatus::failed) {
    return tl::unexpected(run_not_failed(command.run_id, (*row)->status));
  }
  if (api.are_files_removed && api.are_files_removed(command.run_id)) {
    return tl::unexpected(files_removed(command.run_id));
  }
  auto failed = read_failed_run(api.log, index, **row);
  // The rows of what a retention drops stay for some moments longer than the records.
  if (!failed && failed.error().kind == StoreError::Kind::dropped) {
    return tl::unexpected(failed_run_dropped(api.log, command.run_id, failed.error().position));
  }
  if (!failed) return unreadable(failed.error());
  command.failed = std::move(failed->run);
  command.failed_at = failed->failed_at;
  command.read_at = failed->read_at;
  return command;
}

// Returns the refusal of a run whose files a retention is removing, or that the world remembers as
// failed and that a retention dropped, before its records were looked for or since; or which this
// server of a cell is still to drop.
std::optional<Rejection> dropped_since(const Api& api, const RetryRun& command) {
  if (api.is_dropped && api.is_dropped(command.run_id)) {
    return failed_run_dropped(api.log, command.run_id, command.failed_at);
  }
  if (api.holds_retry) {
    if (auto held = api.holds_retry(command.failed_at)) return held;
  }
  if (api.are_files_going && api.are_files_going(command.run_id)) {
    return files_removed(command.run_id);
  }
  if (command.failed != nullptr) return std::nullopt;
  const EndedRun* ended = api.engine.world().ended_runs.find(command.run_id);
  if (ended == nullptr || ended->status != RunStatus::failed ||
      ended->ended_at > api.log.horizon().position) {
    return std::nullopt;
  }
  return failed_run_dropped(api.log, command.run_id, ended->ended_at);
}

// Adds to the refusal of a strategy that doesn't exist that a station may not have all that do.
Rejection with_station_hint(Rejection refusal) {
  const bool is_of_strategy = std::ranges::any_of(refusal.details, [](const Detail& detail) {
    return detail == Detail{"field", std::string("strategy")};
  });
  if (!is_of_strategy) return refusal;
  refusal.message += "; a station may have fewer, as its retry.strategies say";
  return refusal;
}

}  // namespace

void retry_run(Api& api, Call& call) {
  auto command = from_json<RetryRun>(call.params);
  if (!command) return call.responder.reject(with_station_hint(std::move(command.error())));
  if (answered_before(api, call, retry_result)) return;
  const auto origin = std::make_shared<Origin>(call.origin);
  query_read_models(api, call.responder, api.engine.world().position,
                    [&api, origin, responder = call.responder,
                     command = std::move(*command)](const RunIndex& index) {
                      auto completed = with_history(api, index, command);
                      return [&api, origin, responder, completed = std::move(completed)] {
                        if (!completed) return responder.reject(completed.error());
                        if (auto gone = dropped_since(api, *completed)) {
                          return responder.reject(*std::move(gone));
                        }
                        // The same command may have been sent and applied again meanwhile.
                        Call again{{}, *origin, responder};
                        apply_command(api, again, *completed, retry_result);
                      };
                    });
}

}  // namespace signalbox
