// Holds every lease (of stations, steps, locks, ticks), timeout and stall against the clock that
// nobody sets: none may end before its length has passed since this life of the server last had a
// reason to set it anew. W1 W2 W5
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "domain/world.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class LeaseWatch {
 public:
  explicit LeaseWatch(Environment& environment) : environment_(environment) {}

  void applied(const World& world, const Record& record);
  void durable(const Record& record) { follow(record, durable_); }
  // After a start, and when there is space again, everything that the log knows begins anew.
  void begin_anew();
  // The server is stopped until then (monotonic), for so long that it has to give everybody their
  // full time again.
  void forgive(std::int64_t until_ns) { set_all(applied_, until_ns); }

 private:
  enum class Kind : std::uint8_t { lease, timeout, stall };
  struct Deadline {
    std::int64_t since_ns;
    std::int64_t length_ms;
  };
  struct Deadlines {
    std::map<std::pair<Token, Kind>, Deadline> all;
    std::map<Token, std::string> progress;
    std::map<RunId, Token> attempts;
    std::map<RunId, std::vector<Token>> steps;  // attempts of steps that were started
  };
  struct Terms {
    std::int64_t timeout_ms = 0;
    std::int64_t stall_after_ms = 0;
  };

  void follow(const Record& record, Deadlines& deadlines) const;
  void follow_beat(const Record& record, const StationHeartbeat& beat, Deadlines& deadlines) const;
  // Of the steps of plans. False if the record tells of none.
  bool follow_step(const Record& record, Deadlines& deadlines) const;
  void step_applied(const World& world, const Record& record);
  void get_on(Token token, Deadlines& deadlines) const;
  void ended(Token token, Kind kind);
  static void set_all(Deadlines& deadlines, std::int64_t since_ns);

  Environment& environment_;
  std::map<Token, Terms> terms_;  // of the stations that were claimed
  Deadlines applied_;             // as the server has them
  Deadlines durable_;             // as the log has them
};

}  // namespace signalbox::simulation
