#include "server/past/dropped_history.h"

#include <filesystem>

namespace signalbox {

Rejection history_dropped(const EventLog& log, Position position) {
  const Horizon horizon = log.horizon();
  const std::string first = std::to_string(horizon.position + 1);
  Rejection rejection{ErrorCode::HISTORY_DROPPED,
                      "record " + std::to_string(position) +
                          " was archived and dropped: the log has everything from " + first + " on",
                      {{"position", static_cast<std::int64_t>(position)},
                       {"horizon", static_cast<std::int64_t>(horizon.position)}},
                      {"signalbox events --from " + first}};
  const auto commit = log.read_commit(horizon.dropped_at);
  const auto* dropped = commit ? event_as<HistoryDropped>(commit->front().event) : nullptr;
  if (dropped == nullptr) return rejection;
  rejection.details.push_back({"archive", dropped->archive});
  rejection.message += "; the archive is " + dropped->archive;
  // Each archive has its own records; those of earlier drops lie beside it.
  const std::string where =
      position >= dropped->from
          ? dropped->archive
          : std::filesystem::path(dropped->archive).parent_path().string() + "/*";
  rejection.next_commands.push_back("grep -h '\"id\":\"" + std::to_string(position) + "\",' " +
                                    where + "/events-*.jsonl");
  return rejection;
}

}  // namespace signalbox
