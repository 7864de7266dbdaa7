// The way of a query with --at: no server, but the data directory, folded up to then.
#pragma once

#include <memory>
#include <string_view>

#include <boost/json/object.hpp>

#include "store/event_log.h"
#include "tools/cli/invocation.h"

namespace signalbox {

// The log in a data directory, and the state at one moment of it.
class PastDirectory {
 public:
  // usage_error for an --at that is no moment; POSITION_NOT_FOUND for one that the log doesn't
  // have.
  static Called<std::shared_ptr<PastDirectory>> open(const Invocation& invocation);
  ~PastDirectory();

  Called<boost::json::object> call(std::string_view method, const boost::json::object& params);

 private:
  struct Parts;
  explicit PastDirectory(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// As call_server.
Called<boost::json::object> call_past(const Invocation& invocation, std::string_view method,
                                      const boost::json::object& params);

// A position, an RFC 3339 time or an age, as a position of the log: the last event until then, 0 if
// there was none. POSITION_NOT_FOUND for a position beyond the end.
Called<Position> position_of_moment(const EventLog& log, const std::string& moment);

}  // namespace signalbox
