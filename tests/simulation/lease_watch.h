// Holds every lease (of stations, locks, ticks) against the clock that nobody sets: none may end
// before its length has passed since this life of the server last heard of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "domain/event.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class LeaseWatch {
 public:
  explicit LeaseWatch(Environment& environment) : environment_(environment) {}

  void applied(const Record& record);
  void durable(const Record& record) { follow(record, durable_); }
  // After a start, and when there is space again, every lease that the log knows begins anew.
  void begin_anew();

 private:
  struct Lease {
    std::int64_t since_ns;
    std::int64_t lease_ms;
  };
  using Leases = std::map<Token, Lease>;

  void follow(const Record& record, Leases& leases) const;
  void ended(Token token);

  Environment& environment_;
  Leases applied_;  // as the server has them
  Leases durable_;  // as the log has them
};

}  // namespace signalbox::simulation
