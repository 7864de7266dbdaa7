// Answers a query with --at: not from a server, but from the data directory, with the log folded up
// to that moment.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "store/event_log.h"
#include "tools/cli/invocation.h"

namespace signalbox {

// The log in a data directory, opened read-only, and the state at one moment of it.
class PastDirectory {
 public:
  // Opens the data directory at the moment `--at`. Fails with USAGE for an --at that is no moment,
  // POSITION_NOT_FOUND for one outside the log, HISTORY_DROPPED for one before its horizon.
  static Called<std::shared_ptr<PastDirectory>> open(const Invocation& invocation);
  ~PastDirectory();

  Called<boost::json::object> call(std::string_view method, const boost::json::object& params);

 private:
  struct Parts;
  explicit PastDirectory(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Like call_server(), for a query as of --at. Opens the directory on the first call.
Called<boost::json::object> call_past(const Invocation& invocation, std::string_view method,
                                      const boost::json::object& params);

// Returns the whole id of the run that a short one stands for (short_id.h), from the log in the
// data directory; an id that isn't short as it is. Fails as PastDirectory::open() and run.find do.
Called<std::string> whole_run_id(const Invocation& invocation, const std::string& id);

// Converts a position, an RFC 3339 time or an age ("90m") to a position of the log: that of the
// last event until then, 0 if there was none. Fails with USAGE for anything else,
// POSITION_NOT_FOUND for a position beyond the end, HISTORY_DROPPED for one before the horizon.
Called<Position> position_of_moment(const EventLog& log, const std::string& moment);

}  // namespace signalbox
