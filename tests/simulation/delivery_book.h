// The records that are durable, in the order in which subscribers have to get them.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "domain/check.h"
#include "domain/event.h"
#include "store/event_log.h"

namespace signalbox::simulation {

class DeliveryBook {
 public:
  // What is compared of an event: that it is the record at its position.
  struct Entry {
    std::string_view type;
    std::string stream;
  };

  // Reads on in the log, which may have records that the service hasn't heard of yet: subscribers
  // may get them from the log all the same.
  void read_on(const EventLog& log) {
    if (tail() == log.tail()) return;
    const auto scanned = log.scan(tail() + 1, log.tail(), [this](Record&& record) {
      entries_.push_back({tag_of(record.event).name, to_string(record.stream)});
      return true;
    });
    SIGNALBOX_CHECK(scanned.has_value());
  }

  // Returns the first position from `from` on with a record of these types (empty: of any); nullopt
  // if there is none yet.
  [[nodiscard]] std::optional<Position> next(
      Position from, const std::set<std::string, std::less<>>& types) const {
    for (Position position = from; position <= tail(); ++position) {
      if (types.empty() || types.contains(at(position).type)) return position;
    }
    return std::nullopt;
  }
  [[nodiscard]] const Entry& at(Position position) const { return entries_.at(position - 1); }
  [[nodiscard]] Position tail() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace signalbox::simulation
