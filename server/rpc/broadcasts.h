// Notifications with a name of their own that subscribers get beside the event that they tell of:
// for those who follow what loops and cards do and don't want to know the log's types.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/event.h"
#include "server/rpc/api.h"

namespace signalbox {

struct Broadcast {
  std::string_view name;
  boost::json::object params;
};

// What a card's events themselves don't tell.
struct CardFacts {
  std::string project;
  std::string title;
};

// Where a subscription that begins in the middle finds what was before. Empty functions know
// nothing.
struct BroadcastSources {
  std::function<std::optional<CardFacts>(const CardId& id)> card = nullptr;
  // Whether its policy wants broadcasts about its cards (`websocketEvents`).
  std::function<bool(const std::string& project)> wanted = nullptr;
  // The latest event of this card before `position` that is about this run: CardStarted,
  // CardVerificationStarted or CardMergeStarted.
  std::function<std::optional<Record>(const CardId& id, const RunId& run_id, Position position)>
      run_event = nullptr;
};

// The broadcasts of one subscription. It keeps what one event doesn't tell: the heartbeat's tick in
// progress and whether anything came of it, and of the cards' runs under way how far they are.
class Broadcasts {
 public:
  explicit Broadcasts(BroadcastSources sources = {}) : sources_(std::move(sources)) {}

  // What is told of the next record, in order; often nothing.
  std::vector<Broadcast> of(const Record& record);

 private:
  enum class Phase { working, verifying, checked, merging };
  struct CardRun {
    CardId card_id{};
    CardFacts facts;
    Phase phase = Phase::working;
    std::string station;  // that verifies
  };

  void apply(const Record& record, const TickEvent& noun);
  void apply(const Record& record, const CardEvent& noun);
  void apply(const Record& record, const StationEvent& noun);
  void started(const Record& record, const CardStarted& event);
  void verification_started(const Record& record, const CardVerificationStarted& event);
  void verified(const Record& record, const CardVerified& event);
  void failed(const Record& record, const RunId& run_id, const std::string& code,
              const std::string& message, std::int64_t retry_at_ns);
  void retried(const Record& record, const CardUnblocked& event);

  CardRun& run_of(const Record& record, const RunId& run_id);
  CardFacts facts_of(const CardId& id) const;
  [[nodiscard]] bool is_silent(const CardFacts& facts) const;
  boost::json::object& emit(std::string_view name, const Record& record);
  boost::json::object& emit_for_card(std::string_view name, const Record& record,
                                     const CardRun& run, const RunId& run_id);

  BroadcastSources sources_;
  std::vector<Broadcast> emitted_;
  Token heartbeat_ = 0;  // of its latest tick that was seen
  bool heartbeat_idle_ = false;
  std::map<RunId, CardRun> runs_;
};

// All names there are; `agent.log` comes from agent_logs.h, to those who name it.
const std::vector<std::string>& broadcast_names();

// Finds what events don't tell on the board, and in the read models for what has left it. For the
// engine's thread; `api` outlives it. Point look-ups only.
BroadcastSources broadcast_sources(const Api& api);

// Broadcasts of a subscription from `from` on, which know the events just before it: so that one
// which begins in the middle of a tick of the heartbeat tells how that ends.
Broadcasts broadcasts_from(const Api& api, Position from);

}  // namespace signalbox
