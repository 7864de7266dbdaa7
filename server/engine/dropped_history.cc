#include "server/engine/dropped_history.h"

#include <filesystem>
#include <utility>

namespace signalbox {
namespace {

// Returns a glob for all archives: an archive holds the records of one drop, and the archives of
// earlier drops are its siblings.
std::string all_archives(const HistoryDropped& dropped) {
  return std::filesystem::path(std::string(dropped.archive)).parent_path().string() + "/*";
}

}  // namespace

std::optional<Record> latest_drop(const EventLog& log) {
  const Position dropped_at = log.horizon().dropped_at;
  if (dropped_at == 0) return std::nullopt;
  auto commit = log.read_commit(dropped_at);
  if (!commit || event_as<HistoryDropped>(commit->front().event) == nullptr) return std::nullopt;
  return std::move(commit->front());
}

Rejection history_dropped(const EventLog& log, Position position) {
  const Horizon horizon = log.horizon();
  const std::string first = std::to_string(horizon.position + 1);
  Rejection rejection{ErrorCode::HISTORY_DROPPED,
                      "record " + std::to_string(position) +
                          " was archived and dropped: the log has everything from " + first + " on",
                      {{"position", static_cast<std::int64_t>(position)},
                       {"horizon", static_cast<std::int64_t>(horizon.position)}},
                      {"signalbox events --from " + first}};
  const auto drop = latest_drop(log);
  if (!drop) return rejection;
  const auto* const dropped = event_as<HistoryDropped>(drop->event);
  rejection.details.push_back({"archive", dropped->archive});
  const bool is_in_latest = position >= dropped->from;
  rejection.message += (is_in_latest ? "; the archive is " : "; its archive is beside ") +
                       std::string(dropped->archive);
  const std::string where = is_in_latest ? std::string(dropped->archive) : all_archives(*dropped);
  rejection.next_commands.push_back("grep -h '\"id\":\"" + std::to_string(position) + "\",' " +
                                    where + "/events-*.jsonl");
  return rejection;
}

Rejection failed_run_dropped(const EventLog& log, const RunId& run_id, Position failed_at) {
  Rejection rejection = history_dropped(log, failed_at);
  rejection.message = "run " + to_string(run_id) +
                      " failed longer ago than retention.failed_runs, " +
                      "so it can't be retried any more: " + rejection.message;
  rejection.details.push_back({"run_id", to_string(run_id)});
  return rejection;
}

Rejection run_not_found(const EventLog& log, const RunId& run_id) {
  const std::string text = to_string(run_id);
  Rejection rejection{ErrorCode::RUN_NOT_FOUND,
                      "there is no run " + text,
                      {{"run_id", text}},
                      {"signalbox run list"}};
  const auto drop = latest_drop(log);
  if (!drop) return rejection;
  const auto* const dropped = event_as<HistoryDropped>(drop->event);
  rejection.message +=
      "; of those that ended long ago the records are in archives, the latest in " +
      dropped->archive;
  rejection.details.push_back({"archive", dropped->archive});
  rejection.next_commands.push_back("grep -h '\"subject\":\"run/" + text + "\"' " +
                                    all_archives(*dropped) + "/events-*.jsonl");
  return rejection;
}

}  // namespace signalbox
