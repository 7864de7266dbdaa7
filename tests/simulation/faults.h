// What goes wrong, and how often. Each seed has faults of its own: some kinds are off, some come
// three times as often, so that rare combinations get their turn.
#pragma once

#include <array>
#include <cstdint>

#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/mp11/list.hpp>

#include "tests/simulation/seeded_random.h"

namespace signalbox::simulation {

enum class Fault : std::uint8_t {
  crash_anywhere,
  crash_before_append,
  crash_in_append,     // all of the batch is there, some commits of it, or nothing
  crash_after_append,  // durable, and nobody was told
  crash_after_effect,  // the executor did it, and the log has no word of it
  crash_at_start,
  clean_stop,
  append_unknown,
  disk_full,
  clock_jump,
  stall,
  long_stall,  // the server gets no processor for longer than leases
  request_lost,
  request_repeated,
  reply_lost,
  connection_lost,
  zombie,  // a client stops for longer than its lease, and goes on with its old token
  client_restart,
  worker_stuck,    // it beats and doesn't get on
  foreign_lock,    // somebody takes a lock by its file alone
  rubbish_lock,    // a `.lock` that can't be read
  foreign_marker,  // of a tick that the log doesn't know
  rubbish_marker,
  job_slow,
  job_lost,
  job_failed,
  submit_failed,
  submit_unheard,  // it was started, and the answer says that it wasn't
  executor_trouble,
  quota_hit,     // a usage limit, and when it will be over
  job_boasts,    // deep work says that it is done, and it isn't
  plan_invalid,  // a plan that can't be
  step_failed,
  repository_away,  // it can't be read
  repository_slow,
};
BOOST_DESCRIBE_ENUM(Fault, crash_anywhere, crash_before_append, crash_in_append, crash_after_append,
                    crash_after_effect, crash_at_start, clean_stop, append_unknown, disk_full,
                    clock_jump, stall, long_stall, request_lost, request_repeated, reply_lost,
                    connection_lost, zombie, client_restart, worker_stuck, foreign_lock,
                    rubbish_lock, foreign_marker, rubbish_marker, job_slow, job_lost, job_failed,
                    submit_failed, submit_unheard, executor_trouble, quota_hit, job_boasts,
                    plan_invalid, step_failed, repository_away, repository_slow)

inline constexpr std::size_t fault_kinds =
    boost::mp11::mp_size<boost::describe::describe_enumerators<Fault>>::value;
using FaultCounts = std::array<std::uint64_t, fault_kinds>;

class Faults {
 public:
  explicit Faults(SeededRandom& random);

  // Asked at every opportunity. Counts those that struck.
  bool strikes(Fault fault);
  // From here on nothing goes wrong.
  void stop() { stopped_ = true; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const FaultCounts& counts() const { return counts_; }

 private:
  SeededRandom& random_;
  std::array<std::uint32_t, fault_kinds> weights_{};
  FaultCounts counts_{};
  bool stopped_ = false;
};

const char* name_of(Fault fault);

}  // namespace signalbox::simulation
