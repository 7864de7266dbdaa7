// What a command that follows a run says while the run waits for a person.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

// Says on stderr what the run waits for, and the command that decides it: once for each wait.
class WaitNotice {
 public:
  explicit WaitNotice(const Invocation& invocation) : invocation_(invocation) {}

  // Takes the next event of the run, after which no other one is known. Asks the server after one
  // with which a wait may begin, and after the first. Blocks until the answer; a server that
  // doesn't give one is asked again after the next such event.
  void look(const boost::json::object& event);

 private:
  const Invocation& invocation_;
  bool is_first_ = true;
  std::string said_;
};

}  // namespace signalbox
