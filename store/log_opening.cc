#include "store/log_opening.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <set>
#include <system_error>

#include "domain/check.h"
#include "domain/try.h"
#include "store/directory_listing.h"
#include "store/file_descriptor.h"
#include "store/head.h"
#include "store/merkle_tree.h"
#include "store/read_ahead.h"

namespace signalbox {
namespace {

constexpr Position position_max = std::numeric_limits<Position>::max();

// A shorter walk isn't worth a read-ahead thread.
constexpr std::size_t read_ahead_bytes_min = 256 * 1024;

// Visits entries and checks that they are contiguous.
struct Walk {
  const Position from;
  const Position to;
  const VisitEntry& visit;
  Position next;  // the next position that must follow

  // Visits one entry. Returns false at the end of the walk.
  Stored<bool> step(std::string_view key, std::string_view value) {
    const auto first = TRY(entry_position(key));
    if (first > next) {
      return tl::unexpected(damaged_at(next, "record " + std::to_string(next) +
                                                 " is missing: the next one is " +
                                                 std::to_string(first)));
    }
    const auto end = TRY(visit(value, first));
    if (first < next && next != from) {
      return tl::unexpected(damaged_at(first, "two entries of the log overlap"));
    }
    next = std::max(next, end.next);
    return !end.stopped && next <= to;
  }
};

StoreError damaged_in(const std::filesystem::path& file, Position position, std::string message) {
  StoreError error = damaged_at(position, std::move(message));
  error.file = file.string();
  return error;
}

StoreError missing_after(const std::filesystem::path& data, Position tail, Position known,
                         std::string_view witness) {
  return damaged_in(log_directory(data), tail + 1,
                    "the log in " + data.string() + " ends at " + std::to_string(tail) + " but " +
                        std::string(witness) + " says " + std::to_string(known) +
                        ": acknowledged records are missing");
}

StoreError root_differs(const std::filesystem::path& data, Position position,
                        std::string_view witness) {
  return damaged_in(log_directory(data), position,
                    "the records of the log in " + data.string() + " up to " +
                        std::to_string(position) + " are not those that " + std::string(witness) +
                        " vouches for: the Merkle roots differ");
}

// Returns the number of records after a batch, as its head has it; nullopt if it has none.
std::optional<Position> tail_after(const std::string& batch) {
  struct FindHead final : rocksdb::WriteBatch::Handler {
    std::optional<Position> tail;
    rocksdb::Status PutCF(std::uint32_t, const rocksdb::Slice& key,
                          const rocksdb::Slice& value) override {
      if (key != "head") return rocksdb::Status::OK();
      if (const auto head = decode_head(value.ToStringView())) tail = head->leaves;
      return rocksdb::Status::OK();
    }
    rocksdb::Status DeleteCF(std::uint32_t, const rocksdb::Slice&) override {
      return rocksdb::Status::OK();
    }
    rocksdb::Status DeleteRangeCF(std::uint32_t, const rocksdb::Slice&,
                                  const rocksdb::Slice&) override {
      return rocksdb::Status::OK();
    }
  };
  if (batch.empty()) return std::nullopt;
  FindHead found;
  if (!rocksdb::WriteBatch(batch).Iterate(&found).ok()) return std::nullopt;
  return found.tail;
}

}  // namespace

Stored<Position> walk_entries(const RocksDatabase& database, Position from, Position to,
                              const VisitEntry& visit) {
  const std::unique_ptr<rocksdb::Iterator> entries = database.entries(to - from + 1);
  return walk_entries(database, *entries, from, to, visit);
}

Stored<Position> walk_entries(const RocksDatabase& database, rocksdb::Iterator& entries,
                              Position from, Position to, const VisitEntry& visit) {
  Walk walk{from, to, visit, from};
  entries.SeekForPrev(entry_key(from));
  if (!entries.Valid() && entries.status().ok()) entries.SeekToFirst();
  Stored<bool> more = from <= to;
  std::size_t bytes = 0;
  for (; more && *more && entries.Valid() && bytes < read_ahead_bytes_min; entries.Next()) {
    bytes += entries.value().size();
    more = walk.step(entries.key().ToStringView(), entries.value().ToStringView());
  }
  if (more && *more && entries.Valid()) {
    ReadAhead ahead(entries, entry_key(to));
    while (more && *more) {
      const ReadAhead::Chunk& chunk = ahead.next();
      if (chunk.entries.empty()) break;
      for (const auto& entry : chunk.entries) {
        more = walk.step(chunk.key(entry), chunk.value(entry));
        if (!more || !*more) break;
      }
    }
  }
  if (!more) return tl::unexpected(more.error());
  if (*more && !entries.status().ok()) {
    StoreError error = database.error(entries.status());
    error.position = walk.next;
    return tl::unexpected(std::move(error));
  }
  return walk.next;
}

Stored<void> note_redactions(const RocksDatabase& database, const PositionRange& range,
                             RedactionLedger& redactions) {
  TRY(walk_entries(database, range.first, range.last, [&](std::string_view entry, Position begin) {
    return for_each_frame(entry, begin, [&](const Frame& frame) -> Stored<bool> {
      if (frame.position < range.first) return true;
      if (frame.position > range.last) return false;
      TRY(redactions.note(frame));
      return true;
    });
  }));
  return {};
}

Stored<void> check_redactions(const RocksDatabase& database, RedactionLedger redactions,
                              Position from, Position next, const Horizon& horizon,
                              const std::vector<Position>& awaited) {
  const auto leave_out_awaited = [&] {
    for (const Position each : awaited) redactions.await(each);
  };
  leave_out_awaited();
  if (redactions.lacks_event()) {
    TRY(note_redactions(database, {next, position_max}, redactions));
  }
  // What is read may be the event about another record: one whose reason was redacted in turn.
  std::set<Position> read;
  for (bool has_more = true; has_more;) {
    has_more = false;
    for (const Position position : redactions.missing_before(from)) {
      if (!read.insert(position).second) continue;
      has_more = true;
      if (horizon.first_dropped(position, position)) {
        redactions.forget(position);
      } else {
        TRY(note_redactions(database, {position, position}, redactions));
      }
    }
  }
  leave_out_awaited();  // an event about an earlier redaction of it may have been read since
  return redactions.check_log();
}

std::filesystem::path log_directory(const std::filesystem::path& data) { return data / "log"; }
std::filesystem::path anchor_file(const std::filesystem::path& data) { return data / "anchor"; }
std::filesystem::path lock_file(const std::filesystem::path& data) { return data / "server.lock"; }

std::vector<std::filesystem::path> log_files(const std::filesystem::path& data) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& file : list_directory(log_directory(data), ignored)) {
    files.push_back(file.path());
  }
  std::ranges::sort(files);
  return files;
}

Stored<bool> may_create(const std::filesystem::path& data, const std::optional<Anchor>& anchor) {
  const std::filesystem::path directory = log_directory(data);
  // A directory that can't be read isn't one whose files are gone.
  std::error_code error;
  const std::filesystem::path current = directory / "CURRENT";
  if (std::filesystem::is_regular_file(current, error)) return false;
  if (std::filesystem::exists(current, error)) {  // RocksDB would wait for the writer of a FIFO
    return tl::unexpected(damaged_in(current, 0, current.string() + " is not a file"));
  }
  std::filesystem::directory_iterator files;
  if (!error) files = std::filesystem::directory_iterator(directory, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    errno = error.value();
    return tl::unexpected(system_error("read", directory));
  }
  std::error_code ignored;
  // The anchor is first written after the database was created, and before CURRENT exists a
  // database has neither tables nor writes. So any of these is a trace of a log.
  bool traces = anchor.has_value();
  for (const auto& file : files) {
    const auto extension = file.path().extension();
    traces = traces || extension == ".sst" ||
             (extension == ".log" && std::filesystem::file_size(file, ignored) > 0);
  }
  if (!traces) {
    // These are made from a log that is there, so only after its CURRENT is durable.
    for (const char* made : {"projections/read_models/CURRENT", "projections/snapshots"}) {
      if (!std::filesystem::exists(data / made, ignored)) continue;
      return tl::unexpected(damaged_in(
          directory, 0,
          "the log in " + data.string() + " is gone: " + made + " was made from one, and " +
              (std::filesystem::exists(directory, ignored) ? "log/ is empty" : "log/ is missing")));
    }
    return true;
  }
  return tl::unexpected(
      damaged_in(directory / "CURRENT", 0,
                 "the log in " + data.string() + " is gone or in parts: log/CURRENT is missing"));
}

namespace {

StoreError anchor_missing(const std::filesystem::path& data) {
  return damaged_in(anchor_file(data), 0,
                    "the anchor of the log in " + data.string() +
                        " is missing: it can't be known whether the log is complete");
}

}  // namespace

namespace {

// Returns the error for a log that ends at `tail`, before its anchor, and what of its write-ahead
// log can't be read.
StoreError missing_in_tail(const std::filesystem::path& data, Position tail, const Anchor& anchor,
                           const TornTail& wal) {
  StoreError error = missing_after(data, tail, anchor.position, "the anchor");
  for (const TornTail::File& file : wal.files) {
    if (!file.torn) continue;
    error.file = file.path.string();
    error.message += "; " + error.file + " can't be read from byte " +
                     std::to_string(file.whole_bytes) + " on. Nothing was changed";
  }
  return error;
}

// RocksDB doesn't read some torn tails. What is before them ends where the last complete batch with
// records does, or with the tables. What a crash tore was never acknowledged. A damaged batch looks
// like it: cut off, it would be gone for good.
Stored<void> check_torn_tail(const std::filesystem::path& data, const Anchor& anchor,
                             const TornTail& wal, rocksdb::Env* env) {
  std::optional<Position> tail;
  TRY(for_each_batch(log_directory(data), [&tail](const std::string& batch) {
    if (const auto after = tail_after(batch)) tail = after;
  }));
  const auto tables =
      TRY(RocksDatabase::open(log_directory(data), RocksDatabase::Mode::tables_only, env));
  const auto head = TRY(tables->head());
  const Position reached = std::max(head.leaves, tail.value_or(0));
  if (reached >= anchor.position) return {};
  return tl::unexpected(missing_in_tail(data, reached, anchor, wal));
}

}  // namespace

Stored<void> check_tail(const std::filesystem::path& data, const std::optional<Anchor>& anchor,
                        const TornTail& wal, rocksdb::Env* env) {
  if (anchor && anchor->position == 0) return {};
  const auto tail = tail_after(wal.last_batch);
  if (anchor && tail && *tail >= anchor->position) return {};
  const auto log = RocksDatabase::open(log_directory(data), RocksDatabase::Mode::read_only, env);
  if (!anchor) {
    // A creation that was interrupted has no records, and perhaps nothing that can be opened.
    if (!log) return {};
    const auto head = (*log)->head();
    if (head && head->leaves > 0) return tl::unexpected(anchor_missing(data));
    return {};
  }
  if (!log && wal.bytes > 0) return check_torn_tail(data, *anchor, wal, env);
  if (!log) return tl::unexpected(log.error());
  const auto head = TRY((*log)->head());
  if (head.leaves >= anchor->position) return {};
  return tl::unexpected(missing_in_tail(data, head.leaves, *anchor, wal));
}

Stored<MerkleFrontier> verify_log(const RocksDatabase& database,
                                  const std::optional<Checkpoint>& checkpoint,
                                  const std::optional<Anchor>& anchor, const Horizon& horizon,
                                  const std::vector<Position>& awaited,
                                  const std::filesystem::path& data) {
  const auto head = database.head();
  if (!head) return head;
  const Position tail = head->leaves;
  Sha256 sha256;

  MerkleFrontier frontier;
  if (checkpoint) {
    SIGNALBOX_CHECK(checkpoint->position == checkpoint->frontier.leaves);
    frontier = checkpoint->frontier;
    if (tail < frontier.leaves) {
      return tl::unexpected(missing_after(data, tail, frontier.leaves, "the snapshot"));
    }
  }
  if (!anchor && tail > 0) {
    return tl::unexpected(anchor_missing(data));
  }
  if (anchor && tail < anchor->position) {
    return tl::unexpected(missing_after(data, tail, anchor->position, "the anchor"));
  }

  const Position begin = frontier.leaves + 1;
  RedactionLedger redactions;
  const auto add = [&](Position from, Position to) {
    return walk_entries(database, from, to, [&](std::string_view entry, Position first) {
      return append_leaves(entry, first, from, to, sha256, frontier, redactions);
    });
  };
  if (anchor && anchor->position >= frontier.leaves) {
    if (anchor->position > frontier.leaves) {
      TRY(add(frontier.leaves + 1, anchor->position));
    }
    if (merkle_root(frontier, sha256) != anchor->root) {
      return tl::unexpected(root_differs(data, anchor->position, "the anchor"));
    }
  }
  TRY(add(frontier.leaves + 1, position_max));
  if (frontier.leaves != tail) {
    return tl::unexpected(missing_after(data, frontier.leaves, tail, "its own head"));
  }
  if (frontier != *head) return tl::unexpected(root_differs(data, tail, "its own head"));
  TRY(check_redactions(database, std::move(redactions), begin, tail + 1, horizon, awaited));
  return head;
}

}  // namespace signalbox
