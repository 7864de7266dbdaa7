// Answers a query with --at: from the data directory, with the log folded up to that moment, or by
// the server that the command names, which does the same.
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

// Like call_server(), for a query as of --at. Opens the directory on the first call, unless the
// command names a server. Finds the time of the moment for views, whose ages count to it.
Called<boost::json::object> call_past(const Invocation& invocation, std::string_view method,
                                      boost::json::object params);

// Returns the whole id of the run that a short one stands for (short_id.h), from the log in the
// data directory; an id that isn't short as it is. Fails as PastDirectory::open() and run.find do.
Called<std::string> whole_run_id(const Invocation& invocation, const std::string& id);

// Returns the time from which an age such as `moment` counts for the log in the data directory:
// now, or the log's end if no service answers at the directory's socket, because the log is of one
// that was stopped, or a copy. Says so on stderr, once.
std::int64_t age_origin_ns(const Invocation& invocation, const EventLog& log,
                           std::string_view moment);

// Does what find_moment() does (server/engine/moment.h) with age_origin_ns(), but fails with USAGE
// for what is no moment.
Called<Position> position_of_moment(const Invocation& invocation, const EventLog& log,
                                    const std::string& moment);

}  // namespace signalbox
