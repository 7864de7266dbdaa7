// What a part of the log has changed: for each run, card, project, lock and loop that it concerns,
// how that ended up, with its name and the reason. Computed from the records alone, in one pass.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/event.h"

namespace signalbox {

struct StreamChange {
  Stream stream;
  bool is_new = false;     // it began in this part of the log
  std::string_view state;  // a constant: "failed", "held", …
  std::string name;        // a run's goal or a card's title; empty: from before this part
  std::string text;        // the reason, or empty
  Position position = 0;   // of the record that led to the state
  std::int64_t at_ns = 0;  // when it was written, UTC
};

class ChangeSummary {
 public:
  // Longer goals and titles are truncated at a character boundary.
  static constexpr std::size_t name_bytes_max = 256;

  // Applies the records in order.
  void apply(const Record& record);

  // Returns the changes in the order in which the streams were first concerned, without heartbeats,
  // refreshed leases, and ticks of the service's own loops.
  [[nodiscard]] const std::deque<StreamChange>& changes() const { return changes_; }
  // Returns how often what happened to the service itself and to access: "started", "crashed", ….
  [[nodiscard]] const std::map<std::string_view, std::uint64_t>& of_service() const {
    return of_service_;
  }
  [[nodiscard]] const std::map<std::string_view, std::uint64_t>& of_access() const {
    return of_access_;
  }

 private:
  struct RecordVisitor;

  StreamChange& change_of(const Record& record);

  std::deque<StreamChange> changes_;                              // never moved: there are many
  boost::unordered_flat_map<Uuid, std::size_t, UuidHash> by_id_;  // runs and cards
  std::map<std::pair<StreamKind, std::string>, std::size_t> by_name_;
  std::map<std::string_view, std::uint64_t> of_service_;
  std::map<std::string_view, std::uint64_t> of_access_;
};

// Returns the place of a state in lists: what somebody should look at comes first.
std::size_t rank_of_state(std::string_view state);

}  // namespace signalbox
