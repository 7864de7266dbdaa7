#include "store/log_copy.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "store/anchor.h"
#include "store/dropped_values.h"
#include "store/durable_file.h"
#include "store/entry.h"
#include "store/log_opening.h"
#include "store/rocks_database.h"
#include "store/rocks_event_log.h"
#include "store/rocks_filling.h"
#include "store/table_properties.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr Position to_the_end = std::numeric_limits<Position>::max();
// How often the log is opened while its files change.
constexpr int openings_max = 20;
// A server that finds less than this doesn't take its cell, and the copied log's own server may be
// on the same disk.
constexpr std::uint64_t spare_bytes_min = std::uint64_t{64} * 1024 * 1024;

// The log as it is read.
struct Source {
  std::unique_ptr<RocksDatabase> database;
  std::optional<Anchor> anchor;
  Horizon horizon;
  MerkleFrontier head;
  std::uint64_t bytes = 0;  // of its files
};

std::uint64_t bytes_of(const std::vector<fs::path>& files) {
  std::uint64_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code gone;
    const auto size = fs::file_size(file, gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

Stored<Source> read_source(const fs::path& data) {
  Source source;
  // Before the database: a log that is opened later can only be longer.
  source.anchor = TRY(read_anchor(anchor_file(data)));
  if (TRY(may_create(data, source.anchor))) {
    return store_failure(StoreError::Kind::not_found, "there is no log in " + data.string(),
                         log_directory(data).string());
  }
  TRY(check_table_properties(log_directory(data)));
  source.database =
      TRY(RocksDatabase::open(log_directory(data), RocksDatabase::Mode::read_only, nullptr));
  source.head = TRY(source.database->head());
  if (const auto bytes = TRY(source.database->value(horizon_key))) {
    source.horizon = TRY(decode_horizon(*bytes));
  }
  if (source.head.leaves == 0) {
    return store_failure(StoreError::Kind::not_found,
                         "the log in " + data.string() + " has no record yet",
                         log_directory(data).string());
  }
  return source;
}

// A server that flushes or compacts while its MANIFEST and its write-ahead logs are read, one after
// the other, removes files that were needed: the view has a gap then, or can't be opened. While no
// file comes or goes, the view is of one moment.
Stored<Source> open_source(const fs::path& data) {
  for (int attempt = 1; attempt <= openings_max; ++attempt) {
    const auto files = log_files(data);
    auto source = read_source(data);
    if (files != log_files(data)) continue;
    if (source) source->bytes = bytes_of(files);
    return source;
  }
  return store_failure(StoreError::Kind::in_use,
                       "the files of the log in " + data.string() +
                           " change faster than they can be opened: try again when its server has "
                           "less to do",
                       log_directory(data).string());
}

// The copy may be smaller, as it has nothing of what was replaced or dropped.
Stored<void> require_space(const Source& source, const fs::path& to) {
  std::error_code failed;
  const fs::space_info space = fs::space(to, failed);
  if (failed || space.available >= source.bytes + spare_bytes_min) return {};
  const auto in_mebibytes = [](std::uint64_t bytes) {
    return std::to_string(bytes / (1024 * 1024)) + " MiB";
  };
  return store_failure(StoreError::Kind::full,
                       "the log's files have " + in_mebibytes(source.bytes) + ", and the disk of " +
                           to.string() + " has room for " + in_mebibytes(space.available) +
                           ", of which " + in_mebibytes(spare_bytes_min) +
                           " stay free: name a directory on another disk",
                       to.string());
}

// Computes the tree over the entries that it is given, and compares it with the anchor.
class CheckedTree {
 public:
  explicit CheckedTree(const Source& source)
      : anchor_(source.anchor), frontier_(source.horizon.frontier) {}

  Stored<EntryEnd> add(std::string_view entry, Position first) {
    return for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
      append_leaf(frontier_, leaf_hash(frame, sha256_), sha256_);
      if (!anchor_ || frame.position != anchor_->position ||
          merkle_root(frontier_, sha256_) == anchor_->root) {
        return true;
      }
      return tl::unexpected(damaged_at(frame.position,
                                       "the records up to there aren't those that the anchor "
                                       "vouches for: the Merkle roots differ"));
    });
  }
  [[nodiscard]] const MerkleFrontier& frontier() const { return frontier_; }

 private:
  const std::optional<Anchor>& anchor_;
  MerkleFrontier frontier_;
  Sha256 sha256_;
};

// Copies the entries. Returns the tree over them, which is the head's.
Stored<MerkleFrontier> copy_entries(const Source& source, RocksFilling& filling,
                                    const NoteLogCopy& note) {
  LogCopyProgress progress;
  progress.of = source.head.leaves;
  const auto count = [&](std::string_view entry, Position done) {
    progress.done = done;
    progress.bytes += entry.size();
    if (note) note(progress);
  };
  for (const PositionRange& kept : source.horizon.kept) {
    const auto next = TRY(walk_entries(
        *source.database, kept.first, kept.last,
        [&](std::string_view entry, Position first) -> Stored<EntryEnd> {
          TRY(filling.put_entry(first, entry));
          count(entry, first);
          return for_each_frame(entry, first, [](const Frame&) -> Stored<bool> { return true; });
        }));
    if (next <= kept.last) return tl::unexpected(damaged_at(next, "it is missing"));
  }
  CheckedTree tree(source);
  TRY(walk_entries(*source.database, source.horizon.position + 1, to_the_end,
                   [&](std::string_view entry, Position first) -> Stored<EntryEnd> {
                     TRY(filling.put_entry(first, entry));
                     auto end = TRY(tree.add(entry, first));
                     count(entry, tree.frontier().leaves);
                     return end;
                   }));
  if (tree.frontier() != source.head) {
    return tl::unexpected(
        damaged_at(tree.frontier().leaves,
                   "the records up to there aren't those that the log's own head vouches for"));
  }
  if (source.anchor && source.anchor->position > source.head.leaves) {
    return tl::unexpected(
        damaged_at(source.head.leaves + 1, "the log ends before it, and the anchor says " +
                                               std::to_string(source.anchor->position) +
                                               ": acknowledged records are missing"));
  }
  return tree.frontier();
}

Stored<void> copy_values(const Source& source, RocksFilling& filling) {
  Stored<void> put;
  TRY(source.database->values("", "", [&](std::string_view key, std::string_view value) {
    put = filling.put_value(key, value);
    return put.has_value();
  }));
  return put;
}

// Errors from within an entry don't know the file that the entry is in.
StoreError located(StoreError error, const fs::path& data) {
  if (!error.file.empty()) return error;
  error.file = log_directory(data).string();
  error.message = "the log in " + error.file + ", record " + std::to_string(error.position) + ": " +
                  error.message;
  return error;
}

Stored<MerkleFrontier> fill_copy(const Source& source, const fs::path& to, rocksdb::Env* env,
                                 const NoteLogCopy& note) {
  TRY(make_directories(fs::absolute(log_directory(to))));
  const auto database =
      TRY(RocksDatabase::open(log_directory(to), RocksDatabase::Mode::create, env));
  RocksFilling filling(*database, to / "loading");
  auto frontier = TRY(copy_entries(source, filling, note));
  TRY(copy_values(source, filling));
  TRY(filling.finish());
  return frontier;
}

// Reads the copy from its files, as a server does that starts with it, and compares it with what
// was read.
Stored<void> verify_copy(const fs::path& to, const MerkleFrontier& frontier,
                         const Horizon& horizon) {
  const auto copy = TRY(RocksEventLog::open(
      to, {.read_only = true, .verified = Checkpoint{frontier.leaves, frontier}}));
  if (TRY(copy->verify(frontier.leaves)) == frontier && copy->horizon() == horizon) return {};
  return store_failure(StoreError::Kind::damaged,
                       "the copy of the log in " + to.string() + " isn't what was read",
                       log_directory(to).string());
}

}  // namespace

Stored<LogCopy> copy_log(const fs::path& from, const fs::path& to, rocksdb::Env* env,
                         const NoteLogCopy& note) {
  LogCopy copy;
  Horizon horizon;
  {
    auto source = open_source(from);
    if (!source) return tl::unexpected(located(std::move(source.error()), from));
    TRY(require_space(*source, to));
    auto filled = fill_copy(*source, to, env, note);
    if (!filled) return tl::unexpected(located(std::move(filled.error()), from));
    copy.frontier = *std::move(filled);
    horizon = std::move(source->horizon);
  }
  Sha256 sha256;
  TRY(write_anchor(anchor_file(to), {copy.position(), merkle_root(copy.frontier, sha256)}));
  TRY(sync_directory(log_directory(to)));
  if (note) note({LogCopyProgress::Part::checking, copy.position(), copy.position(), 0});
  TRY(verify_copy(to, copy.frontier, horizon));
  copy.bytes = bytes_of(log_files(to));
  return copy;
}

}  // namespace signalbox
