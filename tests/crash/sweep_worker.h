// One of many clients of a server that is killed again and again: starts runs, claims, beats,
// completes, fails, and repeats with the same command id whatever wasn't answered.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>

#include <boost/json/object.hpp>

#include "tests/crash/connection.h"
#include "tests/crash/sweep_record.h"

namespace signalbox::test {

class SweepWorker {
 public:
  struct Plan {
    std::filesystem::path socket;
    std::filesystem::path count_file;  // jobs append a line to it for each execution
    std::size_t process_runs_max = 0;  // how many runs with jobs this worker starts
  };

  SweepWorker(std::size_t number, std::uint64_t seed, Plan plan, SweepRecord& record);

  // Until `stop`, and until the command under way then is answered.
  void run(const std::atomic<bool>& stop);

 private:
  struct Pending {
    std::string command_id;
    SentCommand command;
  };

  bool chance(int percent);
  SentCommand next_command();
  SentCommand start_run();
  SentCommand claim();
  SentCommand complete();
  void take_answer(const boost::json::object& answer);

  std::string name_;
  std::mt19937_64 random_;
  Plan plan_;
  SweepRecord& record_;
  std::optional<Connection> connection_;
  std::optional<Pending> pending_;
  std::optional<boost::json::object> held_;  // the claim
  bool nothing_ready_ = true;
  std::size_t commands_ = 0;
  std::size_t runs_ = 0;
  std::size_t process_runs_ = 0;
};

}  // namespace signalbox::test
