// What the transport reports about its connections, for the metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <boost/describe/enum.hpp>

namespace signalbox {

// The kind of caller at the other end of a connection. `owner` is the server's own user or root on
// the Unix socket, `user` another user of the machine there, `stranger` a TCP client that hasn't
// authenticated.
enum class CallerKind { owner, user, token, address, stranger };
BOOST_DESCRIBE_ENUM(CallerKind, owner, user, token, address, stranger)

// Why the server refused or closed a connection by itself.
enum class DropReason {
  full,          // there was no place for it, and none could be freed
  evicted,       // its place was needed for a newer connection
  caller_full,   // its caller has as many connections as one caller may have
  no_request,    // no authenticated request came in time
  half_line,     // a line was begun and not completed in time
  unread,        // its answers weren't read in time
  buffered,      // its caller, or all of them, had too many bytes buffered
  descriptors,   // the process had no file descriptor left
  subscription,  // a subscription was refused; the connection stays open
};
BOOST_DESCRIBE_ENUM(DropReason, full, evicted, caller_full, no_request, half_line, unread, buffered,
                    descriptors, subscription)

struct ConnectionFigures {
  std::map<CallerKind, std::size_t> open;
  std::map<DropReason, std::uint64_t> dropped;  // since the process started
  std::size_t buffered_bytes = 0;               // incomplete requests and unread answers
};

}  // namespace signalbox
