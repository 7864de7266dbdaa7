#include "server/cell/cell_join.h"

#include <algorithm>
#include <utility>

#include "domain/try.h"
#include "server/cell/cell_mark.h"
#include "server/cell/cell_upgrade.h"
#include "server/limits.h"
#include "store/base64.h"
#include "store/merkle_tree.h"
#include "store/replicated_event_log.h"

namespace signalbox {
namespace {

// As a member of the cell reads them.
constexpr std::size_t links_at_once = 16;

constexpr std::int64_t note_again_ms = 30'000;

// A wrong password, role or database is the operator's to correct, and a start that waited for that
// would look like one that waits for the database. But such an answer may also be that of a node
// that is set up at this moment: PostgreSQL takes connections before its orchestrator has written
// pg_hba.conf or made the role. So it counts only if all hosts give it, and go on giving it. A
// server that runs waits without end: a password that is changed comes to its servers one by one.
struct Denial {
  bool is_denied = false;
  std::int64_t since_ms = 0;

  // Returns whether to try again after this error.
  bool passes(const StoreError& error, std::int64_t now_ms) {
    if (error.kind != StoreError::Kind::denied) {
      is_denied = false;
      return is_outage(error);
    }
    if (!std::exchange(is_denied, true)) since_ms = now_ms;
    return now_ms - since_ms < limits::cell_denied_ms_max;
  }
};

// The server that had this one's name, as long as it may still be there.
struct Namesake {
  std::string identity;
  std::int64_t reported_ns = 0;  // UTC, by the database's clock
  std::int64_t since_ms = 0;     // when that report was seen first
  std::int64_t read_ms = 0;      // and last
};

// What the attempts to join know of those before.
struct Joining {
  std::optional<Position> seen;               // acknowledged, as noted
  bool was_found = false;                     // the cell, since the start
  std::optional<std::int64_t> lost_since_ms;  // since when the cell's log lacks something
  std::optional<Namesake> namesake;
};

// A server of the database that was its primary and hung shows what was there before, for as long
// as nobody tells it: so a loss isn't believed at once, and other connections are asked. `damaged`
// errors are `away` until then.
StoreError doubted(const CellJoin& join, StoreError loss, Joining& joining) {
  if (loss.kind != StoreError::Kind::damaged) return loss;
  const std::int64_t now_ms = join.now_ms();
  if (!joining.lost_since_ms) joining.lost_since_ms = now_ms;
  if (now_ms - *joining.lost_since_ms >= limits::cell_loss_ms_min) return loss;
  join.shared.disconnect();
  loss.kind = StoreError::Kind::away;
  return loss;
}

// Returns the cell's state, after it was made if there was none. A cell that this server was one
// of, or has seen since it started, isn't made again: its log would be the one of whichever server
// starts first.
Stored<CellState> find_or_make(const CellJoin& join, const std::string& own_key, Joining& joining) {
  auto state = join.shared.state();
  if (state) joining.was_found = true;
  if (state || state.error().kind != StoreError::Kind::not_found) return state;
  if (joining.seen || joining.was_found) {
    const std::string file = seen_file(join.data).string();
    const std::string was = joining.seen ? "was one of the cell " + join.settings.name +
                                               ", up to " + std::to_string(*joining.seen)
                                         : "has just seen the cell " + join.settings.name;
    const StoreError lost = {
        StoreError::Kind::damaged,
        state.error().message + ", and this server " + was +
            ": the database is another one, or lost the cell. Correct cell.engine, or restore the "
            "database. To make the cell anew, from the server whose log reaches furthest, remove " +
            file + " there, if it is there, and start it first",
        file,
        {}};
    return tl::unexpected(joining.was_found ? doubted(join, lost, joining) : lost);
  }
  TRY(join.shared.create(first_link(join.replica), to_base64(own_key)));
  joining.was_found = true;
  join.note(true, "made the cell " + join.settings.name + "; its log begins at " +
                      std::to_string(join.replica.tail()));
  return join.shared.state();
}

// Only here can it be found that the database lost what this server never had, as its replica was
// behind when it stopped.
Stored<void> compare_with_seen(const CellJoin& join, const CellState& state, Position last,
                               std::optional<Position>& seen) {
  if (seen && last < *seen) {
    const std::string file = seen_file(join.data).string();
    return store_failure(
        StoreError::Kind::damaged,
        "the cell's log ends at " + std::to_string(last) + ", and this server has seen " +
            std::to_string(*seen) +
            " acknowledged: the database lost acknowledged records, or is another cell's. "
            "`signalbox cell repair`, at the server whose log reaches furthest, puts them back. If "
            "no server has them any more, remove " +
            file + " to go on without",
        file);
  }
  if (seen && state.acked <= *seen) return {};
  if (auto noted = note_seen(join.data, join.settings.name, state.acked); !noted) {
    const std::string why = "how far the cell's log goes can't be noted: " + noted.error().message;
    // A later start that finds nothing noted would make the cell anew in a database that lost it.
    if (!seen) {
      return store_failure(StoreError::Kind::away,
                           why + "; a server doesn't serve before it has noted that once",
                           seen_file(join.data).string());
    }
    join.note(false, why);  // a disk that is full keeps no server from standing by
  }
  seen = state.acked;
  return {};
}

// A server that starts again has the identity that it had. Any other one waits until that has
// missed three reports, by this server's clock and while the database could be read: a server whose
// connection was lost for as long isn't taken for gone.
Stored<void> claim_name(const CellJoin& join, std::optional<Namesake>& namesake) {
  const CellServer& own = join.settings.server;
  const auto servers = TRY(join.shared.replicas());
  const auto found = std::ranges::find(servers, own.name,
                                       [](const ReplicaReport& each) { return each.server.name; });
  const auto report = [&] {
    return join.shared.report(standby_report(own, join.version, "unfit", join.replica));
  };
  if (found == servers.end() || found->server.identity.empty() ||
      found->server.identity == own.identity) {
    return report();
  }
  const std::int64_t now_ms = join.now_ms();
  const bool is_known = namesake && namesake->identity == found->server.identity &&
                        now_ms - namesake->read_ms <= limits::cell_report_ms_default;
  if (!is_known) namesake = Namesake{found->server.identity, found->seen_ns, now_ms, now_ms};
  namesake->read_ms = now_ms;
  if (found->seen_ns != namesake->reported_ns) {
    return store_failure(StoreError::Kind::in_use, "another server is called " + own.name);
  }
  if (now_ms - namesake->since_ms > limits::cell_gone_ms_max) {
    TRY(join.shared.take_name(*found, own.identity));
    join.note(true, "this server takes the place of another one that was called " + own.name);
    return report();
  }
  return store_failure(StoreError::Kind::away,
                       "a server with another data directory was called " + own.name +
                           "; it is replaced by this one unless it reports within " +
                           std::to_string(limits::cell_gone_ms_max / 1000) + " s");
}

// The end of the log and what follows this server's are read one after the other, maybe from two
// servers of the database: what is missing may be missing for a moment.
Stored<void> compare_logs(const CellJoin& join, const CellState& state, Joining& joining) {
  const Position last = TRY(join.shared.last()).last;
  auto compared = compare_with_seen(join, state, last, joining.seen);
  // Before the others know of this server, for which links would be kept then.
  if (compared) compared = require_continuation(join.shared, join.replica.tail(), last);
  if (!compared) return tl::unexpected(doubted(join, compared.error(), joining));
  joining.lost_since_ms.reset();
  return {};
}

Stored<std::string> try_to_join(const CellJoin& join, const std::string& own_key,
                                Joining& joining) {
  const CellState state = TRY(find_or_make(join, own_key, joining));
  auto key = from_base64(state.secret);
  if (!key) {
    return store_failure(
        StoreError::Kind::damaged,
        "the secret of the cell " + join.settings.name +
            " in its database isn't one: somebody changed it, so restore the row of "
            "sb_cell from a backup of the database");
  }
  TRY(require_known_level(join.settings.name, state.feature_level));
  TRY(compare_logs(join, state, joining));
  TRY(claim_name(join, joining.namesake));
  return *std::move(key);
}

}  // namespace

ReplicaReport standby_report(const CellServer& server, const std::string& version,
                             const std::string& role, const EventLog& replica) {
  ReplicaReport report;
  report.server = server;
  report.role = role;
  report.version = version;
  report.applied = replica.tail();
  report.feature_level = feature_level_newest;
  Sha256 sha256;
  report.root = to_hex(merkle_root(replica.frontier(), sha256));
  return report;
}

Stored<void> require_continuation(SharedLog& shared, Position tail, Position last) {
  if (tail >= last || !TRY(shared.read(tail, 1)).empty()) return {};
  return store_failure(
      StoreError::Kind::damaged,
      "the cell's log has no entry that follows " + std::to_string(tail) +
          ", where this server's log ends: it was removed from the database, as it is older than "
          "cell.keep and the other servers had it, or was there before the cell. At another server "
          "of the cell run `signalbox cell seed DIR`, put what is in DIR into this server's data "
          "directory, in place of its `log`, `anchor` and `projections`, and start this server");
}

StoreError name_taken(const CellServer& server) {
  return {StoreError::Kind::denied,
          "another server of the cell, with another data directory, is called " + server.name +
              ": give this one a name of its own (cell.server in signalbox.toml). If it is to "
              "replace the other one, stop that first, and start this one again",
          {},
          {}};
}

Stored<std::optional<std::string>> join_cell(const CellJoin& join, const std::string& own_key) {
  Joining joining;
  joining.seen = TRY(read_seen(join.data, join.settings.name));
  std::optional<std::int64_t> noted_ms;
  Denial denial;
  do {
    auto key = try_to_join(join, own_key, joining);
    if (key) return *std::move(key);
    const std::int64_t now_ms = join.now_ms();
    if (!denial.passes(key.error(), now_ms)) {
      const bool is_taken = key.error().kind == StoreError::Kind::in_use;
      return tl::unexpected(is_taken ? name_taken(join.settings.server) : key.error());
    }
    if (!noted_ms || now_ms - *noted_ms >= note_again_ms) {
      noted_ms = now_ms;
      join.note(false, "waiting for the log of the cell " + join.settings.name + ": " +
                           key.error().message);
    }
  } while (join.wait(limits::cell_beat_ms_default));
  return std::nullopt;
}

void follow_redactions(SharedLog& shared, ReplicatedEventLog& log) {
  const auto servers = shared.replicas();
  if (!servers) return;
  Position redacted_at = 0;
  for (const ReplicaReport& each : *servers) redacted_at = std::max(redacted_at, each.redacted_at);
  while (log.tail() < redacted_at) {
    const auto state = shared.state();
    if (!state || state->feature_level > feature_level_newest) return;
    const auto links = shared.read(log.tail(), links_at_once);
    if (!links) return;
    const std::size_t count = acknowledged_count(*links, state->acked);
    if (count == 0) return;
    for (std::size_t index = 0; index < count; ++index) {
      if (!log.follow((*links)[index])) return;
    }
  }
}

}  // namespace signalbox
