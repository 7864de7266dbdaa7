// Decides which connections the server keeps, so that nobody can lock out anybody else. Each open
// connection has a Place here. A place belongs to a caller: strangers by their address until they
// authenticate, users of the Unix socket by their uid, others by their token or address.
//
// A newcomer is a connection that hasn't sent an authenticated request. When the newcomers' limit
// is reached, the oldest one of the address that has the most makes room, so that a new client
// always gets in. When all places are taken, the caller that has the most makes room. The server's
// own user and root, on the Unix socket, have places in reserve.
//
// It also bounds the bytes that connections keep, by caller and over all: beyond a bound the
// connection that keeps the most is closed. And it closes connections that say or read nothing.
//
// All calls come from the engine thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/access/caller.h"
#include "server/limits.h"
#include "server/platform/blocking_pool.h"
#include "server/rpc/connection_figures.h"

namespace signalbox {

class Admission : public std::enable_shared_from_this<Admission> {
 public:
  using Time = std::chrono::steady_clock::time_point;
  class Place;

  // The limits that an operator may set, or that the machine sets.
  struct Limits {
    std::size_t connections = connections_max;
    std::size_t caller_connections = caller_connections_max;
    std::size_t descriptors = 4 * connections_max;  // for connections alone
  };
  struct Parts {
    Post post;  // runs an action on the engine thread, later
    std::function<Time()> now;
    std::function<void(const std::string&)> warn;  // writes a line to the server's log
  };

  Admission(Parts parts, Limits limits) : parts_(std::move(parts)), limits_(limits) {}

  // Returns a place for a new connection; nullptr if the connection has to be refused. Another
  // connection may have to go for it.
  std::shared_ptr<Place> admit(const Caller& caller, bool is_tls);
  // Closes the connections whose time is over and writes the due line to the log. Called about once
  // a second while idle() is false.
  void sweep();
  // Returns true if there is nothing that sweep() could have to do.
  [[nodiscard]] bool idle() const { return connections_ == 0 && unlogged_ == 0; }
  // Closes the oldest stranger because the process has no descriptor left. Returns false if there
  // is none.
  bool free_descriptor();
  // Applies other limits from now on. Connections beyond them stay open.
  void set_limits(Limits limits) { limits_ = limits; }
  [[nodiscard]] ConnectionFigures figures() const;
  // Returns true while each further stranger takes the place of another one.
  [[nodiscard]] bool is_crowded() const {
    return strangers_ >= newcomers_max || tls_strangers_ >= tls_newcomers_max;
  }

 private:
  // The places of one caller.
  struct Share {
    std::string name;
    CallerKind kind = CallerKind::stranger;
    std::list<Place*> places;  // the oldest first
    std::size_t identified = 0;
    std::size_t bytes = 0;
    std::size_t subscriptions = 0;
  };

  void enter(Place& place, const std::string& name, CallerKind kind);
  void leave(Place& place);
  void drop(Place& place, DropReason reason);
  void count(DropReason reason, const std::string& caller);
  void log_drops(Time now);
  // Drops other newcomers, or other connections, until there is room for `arrived`. Returns false
  // if there is nobody to drop.
  bool make_room(const Place& arrived);
  void enforce_bytes(const Share& share);
  void drop_largest(const Share& share);
  // Returns the caller that keeps the most bytes.
  [[nodiscard]] const Share& largest_share(bool strangers_only) const;
  // See Place::may_read_on().
  bool has_line_room();
  // Returns the oldest connection of the stranger who has the most; nullptr if there is no other
  // than `arrived`.
  [[nodiscard]] Place* oldest_stranger(bool is_tls, const Place* arrived) const;
  // Returns the connection to drop so that `arrived` has a place; nullptr if there is none.
  [[nodiscard]] Place* place_to_free(const Place& arrived) const;
  [[nodiscard]] std::optional<DropReason> overdue(const Place& place, Time now) const;

  const Parts parts_;
  Limits limits_;
  std::map<std::string, Share> shares_;  // by name; only those that have places
  std::size_t connections_ = 0;
  std::size_t descriptors_ = 0;  // of all connections
  std::size_t strangers_ = 0;
  std::size_t tls_strangers_ = 0;
  std::size_t bytes_ = 0;
  std::size_t stranger_bytes_ = 0;
  std::optional<Time> line_room_made_at_;  // when a stranger was dropped for another one's line
  std::size_t subscriptions_ = 0;
  std::map<DropReason, std::uint64_t> dropped_;
  std::map<DropReason, std::uint64_t> dropped_at_log_;  // as of the last line in the log
  std::uint64_t unlogged_ = 0;
  std::string last_dropped_;  // the caller
  std::optional<Time> logged_at_;
};

// The place of one open connection. It is given back by its destructor.
class Admission::Place {
 public:
  Place(std::shared_ptr<Admission> admission, bool is_tls, bool is_owner);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // Sets what closes the connection. `close` is called at most once, later, never within a call of
  // a Place; it must be harmless after the connection has ended. The objects that handle a
  // connection one after the other each set their own.
  void on_drop(std::function<void()> close);
  // Counts the connection to this caller, who has authenticated. Returns false if the caller has
  // too many: the request is to be refused and the connection closed.
  bool identify(const std::string& actor);
  [[nodiscard]] bool identified() const { return identified_; }
  // Returns whether a stranger's long line may be read on now. Where strangers keep all that they
  // may, the one that keeps the most makes room, but only one every newcomer_pause_ms_min: closing
  // a connection and reading the next one costs more than not reading.
  [[nodiscard]] bool may_read_on();
  // Returns true for the server's own user and root on the Unix socket.
  [[nodiscard]] bool is_owner() const { return is_owner_; }
  // Restarts the time for the first authenticated request.
  void renew();
  // A busy connection has unanswered requests or a subscription. One that isn't goes first.
  void set_busy(bool busy) { busy_ = busy; }
  // Says how many bytes of incomplete requests the connection keeps.
  void set_input(std::size_t bytes) { set_bytes(input_bytes_, bytes); }
  // Says whether the peer is in the middle of a line, and whether that is another line than before.
  void set_line(bool has_begun, bool is_new);
  // Says how many bytes of output the peer hasn't read, and whether it read some.
  void set_output(std::size_t bytes, bool has_progress);
  // Returns false if the caller, or everybody together, has too many subscriptions.
  bool take_subscription();
  // Counts that the caller was refused a subscription: after the last try.
  void count_refused_subscription();
  // Returns whether the caller has all the subscriptions that one may have.
  [[nodiscard]] bool is_caller_full() const;
  // Returns the name of whom the connection is counted to; empty once the place was given back.
  [[nodiscard]] std::string_view caller() const;
  // Gives the place back now.
  void leave() { admission_->leave(*this); }

 private:
  friend class Admission;

  [[nodiscard]] std::size_t bytes() const { return input_bytes_ + output_bytes_; }
  void set_bytes(std::size_t& part, std::size_t bytes);

  const std::shared_ptr<Admission> admission_;
  const bool is_tls_;
  const bool is_owner_;
  Share* share_ = nullptr;  // nullptr: the place was given back
  std::list<Place*>::iterator at_;
  std::function<void()> close_;
  Time since_;  // start of the time for the first request
  std::optional<Time> line_since_;
  std::optional<Time> unread_since_;
  std::size_t input_bytes_ = 0;
  std::size_t output_bytes_ = 0;
  std::size_t subscriptions_ = 0;
  bool identified_ = false;
  bool busy_ = false;
  bool dropped_ = false;
};

}  // namespace signalbox
