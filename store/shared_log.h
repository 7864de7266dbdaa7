// A log that the servers of a cell share: a chain of entries, and who its present writer is. Each
// server keeps a replica of its own with the same bytes (replicated_event_log.h), so a shared log
// only has to order entries, make them durable, and keep out a writer that was deposed.
//
// A link of the chain names the link before it, which has to be there: so there is one chain,
// without gaps, whatever a writer believes. The epoch of the writer is in every link: once take()
// has raised it, whoever had the one before appends nothing more.
//
// There are two implementations, PostgresLog and MemorySharedLog (tests, simulation); both pass one
// conformance suite (tests/store/shared_log_conformance_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/feature_level.h"
#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

// The position that the chain's first link follows.
inline constexpr Position before_chain = std::numeric_limits<Position>::max();

// One link: the commits that one append made durable together.
struct ChainLink {
  std::uint64_t epoch = 0;         // of the writer that appended it
  std::uint64_t epoch_before = 0;  // of the link before it
  Position before = before_chain;  // `prev` of the link before it
  Position prev = before_chain;    // the log's tail before it: the link's key
  Position last = 0;               // the log's tail after it
  std::string head;                // encode_head() of the tree after it
  std::string bytes;               // the commits' entries (link_parts())

  friend bool operator==(const ChainLink&, const ChainLink&) = default;
};

// A server of the cell, as others are told of it.
struct CellServer {
  std::string name;     // unique in the cell
  std::string address;  // where clients reach it, e.g. tls://host:port
  // Of its data directory: tells it from another server of that name. Empty: any. Only reports have
  // it.
  std::string identity{};
};

// What the shared log knows of its writer.
struct CellState {
  std::uint64_t epoch = 0;                         // 0: nobody has taken the log yet
  CellServer holder;                               // of that epoch
  FeatureLevel feature_level = feature_level_min;  // of what its writers may write
  std::string secret;  // of the cell, given with its first link: the servers' common key
  // The latest beat.
  std::uint64_t beat_epoch = 0;
  std::uint64_t beat = 0;
  Position acked = 0;             // what that writer knew to be durable when it sent the beat
  std::int64_t beat_wall_ns = 0;  // UTC, by the writer's clock
  bool is_released = false;       // the writer has ended: the next may take the log at once
  std::string successor;          // who should take it, by the word of the writer; empty: anybody
  // The writer's connection is open. It ends with its process, but a paused writer keeps it; after
  // a failover of the database nobody has one. Hastens a takeover and proves nothing.
  bool is_attended = false;
  std::int64_t session = 0;  // of the connection that this was read by; another one after a loss
  std::int64_t database_wall_ns = 0;  // UTC, by the database's clock, when this was read
};

// Where a link of the chain is, and whose.
struct LinkPlace {
  Position prev = before_chain;
  Position last = 0;
  std::uint64_t epoch = 0;
};

struct Beat {
  std::uint64_t epoch = 0;
  std::uint64_t beat = 0;  // counts up
  Position acked = 0;
  std::int64_t wall_ns = 0;  // UTC
  bool is_released = false;
  std::string successor;
  // The latest link that its writer knows to be durable, which beat() looks for.
  std::optional<LinkPlace> latest{};
};

// What a server of the cell tells of itself, for people: a row of `signalbox cell status`.
struct ReplicaReport {
  CellServer server;
  std::string role;          // active, standby, or unfit: a standby that doesn't take the cell
  std::string version;       // of the program
  Position applied = 0;      // what its replica has durably
  std::string root;          // of the tree there, 64 hexadecimal digits
  std::int64_t seen_ns = 0;  // UTC, by the database's clock; set by replicas()
  // The newest that its program knows.
  FeatureLevel feature_level = feature_level_min;
  std::int64_t silent_ms = 0;  // since then, by the same clock; set by replicas()
  // Up to here it keeps nothing any more of what the log's PayloadRedacted erased; the report of
  // the writer covers the shared log as well.
  Position erased_through = 0;
  Position redacted_at = 0;  // of the latest PayloadRedacted that it has followed or written
};

// How many copies a write has before it is acknowledged.
struct SharedDurability {
  bool is_quorum = false;  // at least one other machine has it on its disk
  std::string message;     // what is missing, and what to do; empty for a quorum
};

// What trim() did.
struct TrimmedChain {
  std::size_t links = 0;          // removed
  Position begin = before_chain;  // `prev` of what was the first link before; at most that of now
};

struct SharedAppend {
  enum class Status {
    ok,        // durable, and the chain ends with it
    conflict,  // nothing was written: the writer was deposed, the link is there already, or the one
               // before it isn't
    unknown,   // it may be there now, or appear later, until another write meets it
    away,      // the log can't be reached, or takes nothing: nothing was sent
  };
  Status status = Status::ok;
  std::string message;  // the reason, unless ok
};

// A connection to the shared log. Each call blocks for at most the deadline it was opened with, or
// for a minute longer while it moves large links, and connects again if the connection is gone. One
// thread at a time uses it, except interrupt().
//
// Errors: `away` if the log can't be reached or isn't fit to be written, and nothing was sent;
// `denied` likewise, if it refuses the credentials; `io` if a write's outcome is unknown;
// `not_found` if there is no cell of this name; `unsupported` if the database is too old, its
// tables are of a newer version, or its URL isn't one; `damaged` for rows that can't be.
class SharedLog {
 public:
  SharedLog() = default;
  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;
  virtual ~SharedLog() = default;

  // Makes the cell, at the newest feature level of this program, with its first link, which has no
  // bytes: its head and `last` are those of the log that the cell begins with. `secret` is what
  // state() tells every server of it, and nobody else. Does nothing if the cell is there. Fails
  // with `not_found` if this object has found it before: somebody removed it.
  virtual Stored<void> create(const ChainLink& first, const std::string& secret) = 0;

  // Returns what the log knows of its writer. A read: it proves nothing about what is durable.
  [[nodiscard]] virtual Stored<CellState> state() = 0;

  // Makes `server` the writer if the epoch is still `seen`, and waits for appends of the former one
  // that are under way. This connection then attends the cell. Returns the new epoch; fails with
  // `in_use` if somebody else took it.
  virtual Stored<std::uint64_t> take(std::uint64_t seen, const CellServer& server) = 0;

  // Has this connection attend the cell again, after it was lost; does nothing if it does.
  virtual Stored<void> attend() = 0;

  // Appends a link if the link before it is there and the writer's epoch is that of the cell.
  virtual SharedAppend append(const ChainLink& link) = 0;

  // Writes a beat, durably: returns true if everything that this connection could read before is
  // durable, and false if the writer's epoch isn't that of the cell. Fails with `damaged` if the
  // chain doesn't have `beat.latest`, durably: the beat is written, and the log lost what it had
  // acknowledged.
  virtual Stored<bool> beat(const Beat& beat) = 0;

  // Raises the cell's feature level to `level`, durably, unless it is there already: returns true
  // if the cell has it now, and false if the writer's epoch isn't that of the cell. Whoever takes
  // the cell later sees it. After an error it may be repeated.
  virtual Stored<bool> raise_level(std::uint64_t epoch, FeatureLevel level) = 0;

  // Returns up to `count` links from the one with this `prev` on, in order; none if there is none.
  // Those after what was acknowledged may vanish (acknowledged_count()).
  [[nodiscard]] virtual Stored<std::vector<ChainLink>> read(Position prev, std::size_t count) = 0;
  // Returns the chain's last link, as read() does.
  [[nodiscard]] virtual Stored<ChainLink> last() = 0;

  // Removes the chain's first links, as the writer of this epoch: those that end at `through` or
  // before, `count` at most, and never the last link. Fewer may be removed, so it is called until
  // there are none. Nothing waits for its durability: links may come back with a failover, which
  // harms nothing.
  virtual Stored<TrimmedChain> trim(std::uint64_t epoch, Position through, std::size_t count) = 0;

  // Returns the link that has this position, as read() does; nullopt if it was removed, or isn't
  // there yet.
  [[nodiscard]] virtual Stored<std::optional<ChainLink>> find(Position position) = 0;
  // Gives a link other bytes, durably, as the writer of this epoch: entries with the same leaves.
  // Returns false if the link isn't there as `link` has it, or the epoch isn't that of the cell.
  // After an error it may be repeated.
  virtual Stored<bool> rewrite(std::uint64_t epoch, const ChainLink& link,
                               const std::string& bytes) = 0;

  // Writes and reads what servers tell of themselves. Not durable beyond the database's primary.
  // report() fails with `in_use` if a server of that name and another identity has reported.
  virtual Stored<void> report(const ReplicaReport& report) = 0;
  [[nodiscard]] virtual Stored<std::vector<ReplicaReport>> replicas() = 0;
  // Gives the name of a server that is gone, whose report `former` is as replicas() returned it, to
  // the server of that name with this identity, which counts as having nothing, at the first level,
  // until it reports.
  // Fails with `in_use` if anybody has reported under that name since.
  virtual Stored<void> take_name(const ReplicaReport& former, const std::string& identity) = 0;

  // Returns what durability the log's settings give at the moment.
  [[nodiscard]] virtual Stored<SharedDurability> durability() = 0;

  // Has the next call make a new connection, if it can be to another machine of the database than
  // the present one.
  virtual void disconnect() = 0;

  // Ends the call under way, and all later ones, soon, as if the log were away. Any thread.
  virtual void interrupt() = 0;
};

// Returns how many of these links, consecutive ones, were surely acknowledged to their writers:
// what a later link of the same epoch follows, or what a beat says. Only those may be served or
// kept, for a database can lose the others in a failover.
std::size_t acknowledged_count(const std::vector<ChainLink>& links, Position acked);

// Returns whether the link is the one at this place.
bool is_at(const ChainLink& link, const LinkPlace& place);
// Returns the error for an acknowledged link that the log has no more.
StoreError lost_link(const LinkPlace& place);

// What a link's bytes consist of: views into them.
struct LinkParts {
  std::vector<std::string_view> entries;
  // What replaces the payload that the link's PayloadRedacted erased (Frame::replacement). Empty:
  // the link has no such event, or a later redaction of the same record erased that, too.
  std::string_view replacement;
};

// Append an entry to a link's bytes, and the replacement after all of them; link_parts() takes them
// apart again. It fails with `damaged` if they aren't what was written. FORMAT.md has the bytes.
void append_link_entry(std::string_view entry, std::string& bytes);
void append_link_replacement(std::string_view replacement, std::string& bytes);
Stored<LinkParts> link_parts(std::string_view bytes);

}  // namespace signalbox
