// Answers questions about moments of the past for a running service, from a few remembered past
// worlds (past_service.h), off the engine's thread.
//
// A world that was asked for is remembered, and the moments soon after it are reached from it by
// the events in between. Beyond past_worlds_max the one that was asked the longest ago is
// forgotten. Others begin with the nearest rows and world of the history on the disk
// (past_history.h), so neither time nor memory grows with the log once that is computed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "server/platform/blocking_pool.h"
#include "server/replay/past_history.h"
#include "server/replay/past_service.h"
#include "server/rpc/api.h"
#include "server/rpc/responder.h"
#include "store/event_log.h"

namespace signalbox {

class ArtifactStore;
class Clock;

class PastWorlds {
 public:
  // What it works with; the references outlive it.
  struct Parts {
    const EventLog& log;
    const Clock& clock;
    std::filesystem::path data;  // the data directory
    BlockingPool pool;           // one thread, with a lane for each caller
    PastHistory::Intervals intervals = {};
    // Returns what answers show of the present. Called on the engine's thread. nullptr: the
    // defaults of PresentFacts for this data directory.
    std::function<PresentFacts()> present = nullptr;
    std::shared_ptr<ArtifactStore> artifacts = nullptr;  // nullptr: those of the data directory
  };

  // Removes what an earlier process left on the disk.
  explicit PastWorlds(Parts parts);
  PastWorlds(const PastWorlds&) = delete;
  PastWorlds& operator=(const PastWorlds&) = delete;
  ~PastWorlds();

  // Answers a question, later. OVERLOADED if past_questions_max wait already, unless it has a place
  // and none of its caller waits; else as find_shown_moment() and the method. Called on the
  // engine's thread.
  void ask(PastQuestion question, const Responder& responder);

  // Answers a question about two moments, later, with `from` and `to`, their positions. Takes the
  // place of one question. OVERLOADED; else as find_shown_moment(), INVALID_PARAMS if `to` is
  // before `from`, and the comparison. Called on the engine's thread.
  void compare(PastComparison question, const Responder& responder);

  // Forgets all worlds: what they were made of is no longer what the log has. Blocks until the
  // question that is being answered is answered. Any thread but the pool's and the engine's.
  void forget();

  // Returns the positions of the remembered worlds, ascending. Blocks like forget().
  [[nodiscard]] std::vector<Position> remembered();

 private:
  struct Remembered {
    std::unique_ptr<PastService> service;
    Position begun = 0;       // the position that it was made at; its rows since are in memory
    std::uint64_t asked = 0;  // the number of the latest question
  };

  // The present of a question.
  struct Present {
    std::int64_t now_ns = 0;
    std::optional<PresentFacts> facts;
  };
  // Answers on the pool's thread. Returns what is to be done on the engine's thread then.
  using Work = std::function<std::function<void()>(const Present& present)>;

  // Callers take turns.
  void run(const Responder& responder, const std::string& caller, bool has_place, Work work);
  // Called on the pool's thread.
  Decided<std::string> answer(const PastQuestion& question, const Present& present);
  Decided<boost::json::object> answer(const PastComparison& question, const Present& present);
  // Return the answer to a line, and the result in it, at a position. With mutex_ held.
  Decided<std::string> answer_at(Position at, const std::string& line, const Principal& principal,
                                 const Present& present);
  Decided<boost::json::object> result_at(Position at, const PastComparison& question,
                                         const Present& present);
  Stored<PastService*> world_at(Position at);
  Stored<PastService*> open(Position at);
  void forget_all();

  const Parts parts_;
  std::multiset<std::string> waiting_;  // callers of questions; the engine's thread only
  std::mutex mutex_;                    // held while a question is answered
  // Guarded by mutex_.
  PastHistory history_;
  std::vector<Remembered> worlds_;  // of the history's rows
  Position horizon_ = 0;            // of the log when they were made
  std::uint64_t questions_ = 0;
};

}  // namespace signalbox
