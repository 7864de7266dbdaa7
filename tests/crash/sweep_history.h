// The commands of a sweep's clients with the times of their calls and answers, in a file that
// tests/crash/linearizability judges. A command that is sent again until it is answered is one
// operation, from its first call to its answer.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>

#include <boost/json/object.hpp>

namespace signalbox::test {

// Writes to the file that SIGNALBOX_HISTORY names, and nothing without it. For one thread at a
// time.
class SweepHistory {
 public:
  SweepHistory();

  // Called before the command is sent.
  void called(const std::string& command_id, const std::string& method,
              const boost::json::object& params);
  // Called when its answer has arrived.
  void answered(const std::string& command_id, const boost::json::object& answer);

 private:
  void write(const boost::json::object& line);

  std::ofstream file_;
  std::map<std::string, std::int64_t> numbers_;
};

}  // namespace signalbox::test
