// The faults that a simulation injects, and how often. Each seed draws its own weights: some kinds
// are off, some three times as frequent, so that rare combinations occur.
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
  crash_in_append,     // all of the batch, its first commits, or nothing is written
  crash_after_append,  // the batch is durable, and nobody was answered
  crash_after_effect,  // the executor has acted, and the log has no record of it
  crash_at_start,
  clean_stop,
  append_unknown,
  disk_full,
  clock_jump,
  stall,
  long_stall,  // the server gets no processor for longer than leases last
  request_lost,
  request_repeated,
  request_late,  // by up to minutes, after which the client may have asked again
  reply_lost,
  reply_repeated,
  reply_late,
  connection_lost,
  zombie,  // a client stops for longer than its lease and goes on with its old token
  client_restart,
  worker_stuck,    // it sends heartbeats without progress
  foreign_lock,    // another process takes a lock by its file alone
  rubbish_lock,    // a `.lock` that can't be parsed
  foreign_marker,  // a marker of a tick that the log doesn't know
  rubbish_marker,
  job_slow,
  job_lost,
  job_failed,
  submit_failed,
  submit_unheard,  // the job was started, and the answer says that it wasn't
  executor_trouble,
  quota_hit,     // a usage limit, with the time of its end
  job_boasts,    // a deep work job reports success too early
  plan_invalid,  // a plan that is invalid
  step_failed,
  repository_away,  // the repository can't be read
  repository_slow,
};
BOOST_DESCRIBE_ENUM(Fault, crash_anywhere, crash_before_append, crash_in_append, crash_after_append,
                    crash_after_effect, crash_at_start, clean_stop, append_unknown, disk_full,
                    clock_jump, stall, long_stall, request_lost, request_repeated, request_late,
                    reply_lost, reply_repeated, reply_late, connection_lost, zombie, client_restart,
                    worker_stuck, foreign_lock, rubbish_lock, foreign_marker, rubbish_marker,
                    job_slow, job_lost, job_failed, submit_failed, submit_unheard, executor_trouble,
                    quota_hit, job_boasts, plan_invalid, step_failed, repository_away,
                    repository_slow)

inline constexpr std::size_t fault_kinds =
    boost::mp11::mp_size<boost::describe::describe_enumerators<Fault>>::value;
using FaultCounts = std::array<std::uint64_t, fault_kinds>;

class Faults {
 public:
  explicit Faults(SeededRandom& random);

  // Decides whether the fault happens at this opportunity, and counts it if so.
  bool strikes(Fault fault);
  // Turns all faults off from now on.
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
