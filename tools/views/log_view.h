// Formats the output of running agents as lines for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

class LogView {
 public:
  // With `named`, each line begins with its run and station.
  explicit LogView(bool named) : named_(named) {}

  // Returns the new lines of one `agent.log`, each with a line break. Bytes that were skipped
  // before it give a line with their number; bytes that were shown already are left out.
  std::string lines(const boost::json::object& excerpt, const Terminal& terminal);

 private:
  const bool named_;
  std::map<std::string, std::uint64_t> next_;  // next byte to show, by span and stream
};

}  // namespace signalbox
