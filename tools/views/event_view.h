// Formats events, and the output of running agents, as lines for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Returns an event as one line: position, time, stream (for a run the end of its id), type and the
// important fields of the data, with a line break.
std::string event_line(const boost::json::object& event, const Terminal& terminal,
                       std::int64_t now_ns);

// Returns the same for one of many events of the same run: a terminal shows more of the fields
// instead of the stream.
std::string run_event_line(const boost::json::object& event, const Terminal& terminal,
                           std::int64_t now_ns);

// Returns the same for a broadcast, with its name as the type.
std::string broadcast_line(const std::string& name, const boost::json::object& params,
                           const Terminal& terminal, std::int64_t now_ns);

// Formats the output of running agents.
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
