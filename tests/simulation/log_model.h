// What the service has to know at each position of the log, built from the records alone: locks,
// ticks, runs, cards, and which tokens are in use. Shares no code with evolve() and the read
// models, and speaks of a state with the words of the protocol.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "domain/event.h"
#include "tests/simulation/versions.h"

namespace signalbox::simulation {

struct ModelEndedLock {
  std::string owner;
  Token token = 0;  // 0: the key never had a lock that ended
  bool expired = false;
  Position ended_at = 0;
};

struct ModelLock {
  std::string owner;
  Token token = 0;  // 0: nobody holds it
  std::int64_t lease_ms = 0;
  std::string reason;
  std::string run_root;
  std::int64_t acquired_at_ns = 0;  // UTC
  ModelEndedLock last;
};

struct ModelTick {
  std::string status;  // empty: none is open
  Token token = 0;     // 0 if only a marker is known of it

  friend bool operator==(const ModelTick&, const ModelTick&) = default;
};

struct ModelRun {
  std::string status;  // empty: it hasn't started
  Position last = 0;   // of its latest record that isn't a heartbeat
  Token holder = 0;    // of the attempt under way, or 0

  [[nodiscard]] bool is_terminal() const {
    return status == "succeeded" || status == "failed" || status == "canceled";
  }
};

struct ModelCard {
  std::string status;  // empty: it wasn't submitted
  Position last = 0;   // of its latest record
  std::string run_id;  // of the latest run, or empty
  std::string project;
  std::string title;
  std::string key;
  std::int32_t priority = 0;
};

class LogModel {
 public:
  // Follows the next durable record.
  void read(const Record& record);

  [[nodiscard]] Position tail() const { return tail_; }

  template <class Value>
  using Named = std::map<std::string, Versions<Value>>;
  [[nodiscard]] const Named<ModelLock>& locks() const { return locks_; }  // by key
  [[nodiscard]] const Named<ModelTick>& ticks() const { return ticks_; }  // by loop
  [[nodiscard]] const Named<ModelRun>& runs() const { return runs_; }     // by id
  [[nodiscard]] const Named<ModelCard>& cards() const { return cards_; }  // by id

  // Return the versions; those of something unknown have only Value().
  [[nodiscard]] const Versions<ModelLock>& lock(const std::string& key) const;
  [[nodiscard]] const Versions<ModelTick>& tick(const std::string& loop) const;
  [[nodiscard]] const Versions<ModelRun>& run(const std::string& id) const;
  [[nodiscard]] const Versions<ModelCard>& card(const std::string& id) const;

  // Returns true if the token of a lock, tick, station or step was in use after each position in
  // from … to.
  [[nodiscard]] bool is_used_throughout(Token token, Position from, Position to) const;
  // Returns the position of the start of the service that the state after `position` belongs to.
  [[nodiscard]] Position start_before(Position position) const { return starts_.at(position); }
  // Returns true if the tick that began at `token` works in this run root or for this run; each may
  // be empty.
  [[nodiscard]] bool is_tick_at(Token token, const std::string& run_root,
                                const std::string& run_id) const;
  // Returns `from` and the positions up to `to` after which a tick may be in another state, or of
  // an earlier start.
  [[nodiscard]] std::vector<Position> tick_moments(Position from, Position to) const;

 private:
  struct Use {
    Position since = 0;
    Position until = 0;  // 0: it goes on
  };

  struct TickPlace {
    std::string run_root;
    std::string run_id;
  };

  void read_lock(const Record& record);
  void read_tick(const Record& record);
  void read_run(const Record& record);
  void read_step(const Record& record);
  void read_card(const Record& record);
  void end_attempt(const Record& record, ModelRun& run);
  void end_steps(const Record& record);
  void begin_use(const Record& record) { uses_[record.position] = {record.position, 0}; }
  void end_use(Token token, const Record& record);

  Position tail_ = 0;
  Named<ModelLock> locks_;
  Named<ModelTick> ticks_;
  Named<ModelRun> runs_;
  Named<ModelCard> cards_;
  std::map<Token, Use> uses_;
  std::map<std::string, std::vector<Token>> steps_;  // by run: tokens of steps under way
  std::map<Token, TickPlace> tick_places_;
  std::vector<Position> tick_moments_;
  Versions<Position> starts_;
};

}  // namespace signalbox::simulation
