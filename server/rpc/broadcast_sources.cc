#include "server/rpc/broadcast_sources.h"

#include <algorithm>

#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

// Events before a subscription's first that it looks at; ticks of the heartbeat are short.
constexpr Position look_back_events_max = 1000;

std::optional<CardFacts> facts_of(const Api& api, const CardId& id) {
  if (const Card* card = api.engine.world().board.find(id)) {
    return CardFacts{card->project, card->title};
  }
  const auto row = api.projector.index().cards().find(id);
  if (!row || !*row) return std::nullopt;
  return CardFacts{(*row)->project, (*row)->title};
}

bool is_about(const Record& record, const RunId& run_id) {
  if (const auto* started = event_as<CardStarted>(record.event)) return started->run_id == run_id;
  if (const auto* checks = event_as<CardVerificationStarted>(record.event)) {
    return checks->run_id == run_id;
  }
  const auto* merging = event_as<CardMergeStarted>(record.event);
  return merging != nullptr && merging->run_id == run_id;
}

std::optional<Record> run_event(const Api& api, const CardId& id, const RunId& run_id,
                                Position position) {
  const auto positions = api.projector.index().cards().positions(id);
  if (!positions) return std::nullopt;
  for (auto each = positions->rbegin(); each != positions->rend(); ++each) {
    if (*each >= position) continue;
    const auto records = api.log.read(*each, 1);
    if (!records || records->empty()) return std::nullopt;
    if (is_about(records->front(), run_id)) return records->front();
    // Between a run's start and its end there is nothing else of its card but its checks.
    if (event_as<CardStarted>(records->front().event) != nullptr) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

BroadcastSources broadcast_sources(const Api& api) {
  BroadcastSources sources;
  sources.card = [&api](const CardId& id) { return facts_of(api, id); };
  sources.wanted = [&api](const std::string& name) {
    const Project* project = api.engine.world().find_project(name);
    return project == nullptr || project->policy.websocket_events;
  };
  sources.run_event = [&api](const CardId& id, const RunId& run_id, Position position) {
    return run_event(api, id, run_id, position);
  };
  return sources;
}

Broadcasts broadcasts_from(const Api& api, Position from) {
  Broadcasts broadcasts(broadcast_sources(api));
  const Position first = std::max(from > look_back_events_max ? from - look_back_events_max : 1,
                                  api.log.horizon().position + 1);
  if (from > first) {
    (void)api.log.scan(first, from - 1, [&broadcasts](Record&& record) {
      (void)broadcasts.of(record);
      return true;
    });
  }
  return broadcasts;
}

}  // namespace signalbox
