// Broadcasts: notifications, named on their own, that subscribers get beside the event that causes
// them. They are for clients that follow loops and cards without knowing the log's event types.
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
#include "store/horizon.h"

namespace signalbox {

struct Broadcast {
  std::string_view name;
  boost::json::object params;
  bool span_is_token = false;  // `span_id` is the token of a tick
};

// Facts about a card that most of its events don't contain.
struct CardFacts {
  std::string project;
  std::string title;
};

// Lookups for facts from before the start of a subscription. An empty function stands for "nothing
// is known".
struct BroadcastSources {
  std::function<std::optional<CardFacts>(const CardId& id)> card = nullptr;
  // Returns true if the project's policy wants broadcasts about its cards (`websocketEvents`).
  std::function<bool(const std::string& project)> wanted = nullptr;
  // Returns the card's latest event before `position` that is about this run: CardStarted,
  // CardVerificationStarted or CardMergeStarted.
  std::function<std::optional<Record>(const CardId& id, const RunId& run_id, Position position)>
      run_event = nullptr;
};

// Derives the broadcasts of one subscription from its records. It keeps the state that a single
// event doesn't contain: the heartbeat's tick in progress and whether that tick started anything,
// and the phase of each card's run under way.
class Broadcasts {
 public:
  explicit Broadcasts(BroadcastSources sources = {}) : sources_(std::move(sources)) {}

  // Returns the position of the first record to apply for a subscription that starts at `from`: a
  // little before, so that one that begins during a heartbeat tick reports how that tick ends.
  static Position history_from(Position from, const Horizon& horizon);
  // Returns false if of() would do nothing for the record, whatever came before. Any thread.
  static bool concerns(const Record& record);

  // Applies the next record and returns the broadcasts that it causes, in order; often none.
  std::vector<Broadcast> of(const Record& record);

  // Looks the facts about cards up again, because texts of them were redacted.
  void renew_facts();

 private:
  enum class Phase { working, verifying, checked, merging };
  struct CardRun {
    CardId card_id{};
    CardFacts facts;
    Phase phase = Phase::working;
    std::string station;  // the one that verifies
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
  Token heartbeat_ = 0;          // of the heartbeat's tick in progress; 0: none
  bool heartbeat_idle_ = false;  // that tick has started nothing so far
  std::map<RunId, CardRun> runs_;
};

// What waits for a person may have changed (projections/attention.h). Sent only to subscribers that
// name it.
inline constexpr std::string_view attention_changed_name = "attention.changed";

// Returns the names of all broadcasts, including `agent.log`, which agent_logs.h sends to
// subscribers that name it, and `attention.changed`.
const std::vector<std::string>& broadcast_names();

// Returns lookups in the board, and in the read models for cards that have left it. Each is a point
// query. They are called on the engine's thread; `api` must outlive them.
BroadcastSources broadcast_sources(const Api& api);

}  // namespace signalbox
