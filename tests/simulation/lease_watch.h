// Checks every lease (of stations, steps, locks, ticks), timeout and stall against the monotonic
// clock. None may end before its full length has passed since this life of the server last had a
// reason to renew it. W1 W2 W5
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

  // Follows a record that the server applied, and checks the ends that it brings.
  void applied(const World& world, const Record& record);
  // Follows a renewal of the token's lease that isn't recorded.
  void renewed(Token token);
  // Follows a durable record.
  void durable(const Record& record) { follow(record, durable_); }
  // Renews everything that the log knows: after a start, and when there is disk space again.
  void begin_anew();
  // Renews everything from `until_ns` (monotonic): the server is stopped until then, for so long
  // that it has to give every holder its full time again.
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
    std::map<RunId, std::vector<Token>> steps;  // every started attempt of a step
  };
  struct Terms {
    std::int64_t timeout_ms = 0;
    std::int64_t stall_after_ms = 0;
  };

  void follow(const Record& record, Deadlines& deadlines) const;
  void follow_beat(const Record& record, const StationHeartbeat& beat, Deadlines& deadlines) const;
  // Follows records about the steps of plans. Returns false if the record is about none.
  bool follow_step(const Record& record, Deadlines& deadlines) const;
  void step_applied(const World& world, const Record& record);
  void get_on(Token token, Deadlines& deadlines) const;
  void ended(Token token, Kind kind);
  static void set_all(Deadlines& deadlines, std::int64_t since_ns);

  Environment& environment_;
  std::map<Token, Terms> terms_;  // by token of the claimed station or started step
  Deadlines applied_;             // as the server has them
  Deadlines durable_;             // as the log has them
};

}  // namespace signalbox::simulation
