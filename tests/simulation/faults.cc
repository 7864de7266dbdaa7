#include "tests/simulation/faults.h"

#include <boost/describe/enum_to_string.hpp>

namespace signalbox::simulation {
namespace {

// Returns how often the fault strikes in 10,000 opportunities, before the seed's multiple.
std::uint32_t usual_weight(Fault fault) {
  switch (fault) {
    case Fault::crash_anywhere:
      return 8;
    case Fault::crash_before_append:
    case Fault::crash_in_append:
    case Fault::crash_after_append:
      return 60;
    case Fault::crash_after_effect:
      return 300;
    case Fault::crash_at_start:
      return 1500;
    case Fault::clean_stop:
      return 4;
    case Fault::append_unknown:
      return 40;
    case Fault::disk_full:
      return 40;
    case Fault::clock_jump:
      return 15;
    case Fault::stall:
    case Fault::long_stall:
      return 10;
    case Fault::request_lost:
    case Fault::request_repeated:
    case Fault::reply_lost:
      return 300;
    case Fault::reply_repeated:
    case Fault::connection_lost:
      return 100;
    case Fault::request_late:
    case Fault::reply_late:
      return 50;
    case Fault::zombie:
      return 800;
    case Fault::client_restart:
      return 100;
    case Fault::worker_stuck:
      return 800;
    case Fault::foreign_lock:
    case Fault::rubbish_lock:
    case Fault::foreign_marker:
    case Fault::rubbish_marker:
      return 1500;
    case Fault::job_slow:
      return 1500;
    case Fault::job_lost:
      return 500;
    case Fault::job_failed:
      return 1500;
    case Fault::submit_failed:
    case Fault::submit_unheard:
      return 500;
    case Fault::quota_hit:
      return 1000;
    case Fault::job_boasts:
      return 100;
    case Fault::plan_invalid:
    case Fault::step_failed:
      return 1500;
    case Fault::executor_trouble:
    case Fault::repository_away:
      return 200;
    case Fault::repository_slow:
      return 1000;
  }
  return 0;
}

}  // namespace

Faults::Faults(SeededRandom& random) : random_(random) {
  constexpr std::array<std::uint32_t, 4> multiples{0, 1, 1, 3};
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) {
    weights_[kind] = usual_weight(static_cast<Fault>(kind)) * random_.any_of(multiples);
  }
}

bool Faults::strikes(Fault fault) {
  const auto kind = static_cast<std::size_t>(fault);
  if (stopped_ || random_.below(10'000) >= weights_[kind]) return false;
  ++counts_[kind];
  return true;
}

const char* name_of(Fault fault) { return boost::describe::enum_to_string(fault, "?"); }

}  // namespace signalbox::simulation
