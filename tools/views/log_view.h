// What an agent prints while it runs, as lines for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

class LogView {
 public:
  // With `named` each line begins with the run and the station that it is of.
  explicit LogView(bool named) : named_(named) {}

  // The lines of one `agent.log`, each with a line break; a line for what was passed over.
  std::string lines(const boost::json::object& excerpt, const Terminal& terminal);

 private:
  const bool named_;
  std::map<std::string, std::uint64_t> next_;  // byte, by span and stream
};

}  // namespace signalbox
