#include "store/unnamed_tables.h"

#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "domain/try.h"
#include "store/directory_listing.h"
#include "store/dropped_values.h"
#include "store/durable_file.h"
#include "store/entry.h"
#include "store/file_descriptor.h"
#include "store/head.h"
#include "store/horizon.h"
#include "store/log_opening.h"
#include "store/rocks_database.h"

namespace signalbox {
namespace {

constexpr std::size_t current_bytes_max = 64;

bool is_table_name(std::string_view name) {
  constexpr std::string_view extension = ".sst";
  return name.size() > extension.size() && name.ends_with(extension) &&
         std::ranges::all_of(name.substr(0, name.size() - extension.size()),
                             [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Returns the names of the table files in the directory: RocksDB deletes those only.
Stored<std::set<std::string>> table_names(const std::filesystem::path& directory) {
  std::set<std::string> names;
  std::error_code failed;
  for (const auto& file : list_directory(directory, failed)) {
    std::string name = file.path().filename().string();
    if (is_table_name(name)) names.insert(std::move(name));
  }
  if (failed) {
    errno = failed.value();
    return tl::unexpected(system_error("list", directory));
  }
  return names;
}

// Returns the file that CURRENT points to, or CURRENT if that can't be read.
std::filesystem::path manifest_of(const std::filesystem::path& directory) {
  const auto current = read_file(directory / "CURRENT", current_bytes_max);
  if (!current || current->empty() || current->find('/') != std::string::npos) {
    return directory / "CURRENT";
  }
  return directory / current->substr(0, current->find('\n'));
}

// Compares the tables that a log's MANIFEST doesn't name with the log.
class UnnamedTables {
 public:
  UnnamedTables(const RocksDatabase& log, const std::filesystem::path& directory, rocksdb::Env* env)
      : log_(log), directory_(directory), entries_(log.entries(1)) {
    if (env != nullptr) options_.env = env;
  }

  // Reads what the tables are compared with.
  Stored<void> begin();
  Stored<void> check(const std::string& name);
  // Checks that the named tables and the write-ahead log have every record from the horizon on.
  // Only for when a table couldn't be read: it is the remains of an interrupted flush then.
  [[nodiscard]] Stored<void> check_coverage() const;
  [[nodiscard]] bool any_unreadable() const { return unreadable_; }

 private:
  [[nodiscard]] tl::unexpected<StoreError> only_here(const std::string& name, Position position,
                                                     const std::string& what) const;
  Stored<void> check_entry(const std::string& name, const rocksdb::Slice& key,
                           std::string_view entry);
  [[nodiscard]] Stored<void> check_head_row(const std::string& name, std::string_view key,
                                            std::string_view value) const;

  const RocksDatabase& log_;
  const std::filesystem::path& directory_;
  std::unique_ptr<rocksdb::Iterator> entries_;
  rocksdb::Options options_;
  MerkleFrontier head_;
  Horizon horizon_;
  bool unreadable_ = false;
};

Stored<void> UnnamedTables::begin() {
  auto head = TRY(log_.head());
  head_ = std::move(head);
  const auto bytes = TRY(log_.value("horizon"));
  if (!bytes) return {};
  auto horizon = TRY(decode_horizon(*bytes));
  horizon_ = std::move(horizon);
  return {};
}

tl::unexpected<StoreError> UnnamedTables::only_here(const std::string& name, Position position,
                                                    const std::string& what) const {
  const std::filesystem::path manifest = manifest_of(directory_);
  return store_failure(StoreError::Kind::damaged,
                       (directory_ / name).string() + " has " + what + ", but " +
                           manifest.filename().string() +
                           " doesn't name it: the MANIFEST was cut short or replaced, and without "
                           "it records would be lost. Nothing was deleted",
                       manifest.string(), position);
}

// Returns whether `present` is `former` as it is, or with some of its records redacted since.
bool is_same_or_redacted(std::string_view present, std::string_view former, Position first) {
  if (present == former) return true;
  while (!present.empty() && !former.empty()) {
    const auto now = parse_frame(present);
    const auto before = parse_frame(former);
    if (!now || !before || now->position != before->position || now->position < first) return false;
    if (now->header != before->header) return false;
    if (!now->redacted() && present.substr(0, now->bytes) != former.substr(0, before->bytes)) {
      return false;
    }
    present.remove_prefix(now->bytes);
    former.remove_prefix(before->bytes);
  }
  return present.empty() && former.empty();
}

Stored<void> UnnamedTables::check_entry(const std::string& name, const rocksdb::Slice& key,
                                        std::string_view entry) {
  const auto first = TRY(entry_position(key));
  if (first <= horizon_.position && horizon_.first_dropped(first, first)) return {};
  // Both are in order, so the entry that is wanted is mostly the next one.
  if (!entries_->Valid() || entries_->key() != key) entries_->Seek(key);
  if (!entries_->status().ok()) return tl::unexpected(log_.error(entries_->status()));
  if (!entries_->Valid() || entries_->key() != key ||
      !is_same_or_redacted(entries_->value().ToStringView(), entry, first)) {
    return only_here(name, first, "the record " + std::to_string(first) + " and no other file has");
  }
  entries_->Next();
  return {};
}

Stored<void> UnnamedTables::check_head_row(const std::string& name, std::string_view key,
                                           std::string_view value) const {
  if (key == "head") {
    const auto head = TRY(decode_head(value));
    if (head.leaves <= head_.leaves) return {};
    return only_here(name, head_.leaves + 1,
                     "the head of a log of " + std::to_string(head.leaves) + " records");
  }
  if (key == "horizon") {
    const auto horizon = TRY(decode_horizon(value));
    if (horizon.dropped_at <= horizon_.dropped_at) return {};
    return only_here(
        name, horizon.position,
        "the horizon at " + std::to_string(horizon.position) + " and no other file has");
  }
  if (key.starts_with(group_prefix)) {
    const auto present = TRY(log_.value(key));
    if (!present) return only_here(name, 0, "hashes of dropped records and no other file has them");
  }
  return {};
}

Stored<void> UnnamedTables::check(const std::string& name) {
  rocksdb::SstFileReader reader(options_);
  rocksdb::Status status = reader.Open((directory_ / name).string());
  bool has_entries = true;
  std::unique_ptr<rocksdb::Iterator> row;
  if (status.ok()) {
    has_entries =
        reader.GetTableProperties()->column_family_name == rocksdb::kDefaultColumnFamilyName;
    rocksdb::ReadOptions read;
    read.verify_checksums = true;
    read.fill_cache = false;
    row.reset(reader.NewIterator(read));
    for (row->SeekToFirst(); row->Valid(); row->Next()) {
      TRY(has_entries
              ? check_entry(name, row->key(), row->value().ToStringView())
              : check_head_row(name, row->key().ToStringView(), row->value().ToStringView()));
    }
    status = row->status();
  }
  if (status.ok()) return {};
  const StoreError error = log_.error(status);
  if (error.kind != StoreError::Kind::damaged) return tl::unexpected(error);
  unreadable_ = true;
  return {};
}

Stored<void> UnnamedTables::check_coverage() const {
  Position next = horizon_.position + 1;
  for (const RocksDatabase::Table& table : log_.tables()) {
    if (!table.has_entries) continue;
    const auto smallest = TRY(entry_position(table.smallest_key));
    const auto largest = TRY(entry_position(table.largest_key));
    if (largest < next) continue;
    if (smallest > next) break;  // the walk below finds what is missing
    const auto last = TRY(log_.entry_of(largest));
    const auto end = TRY(
        for_each_frame(last.bytes, last.first, [](const Frame&) -> Stored<bool> { return true; }));
    next = std::max(next, end.next);
  }
  // What the tables don't cover is in the write-ahead log.
  const auto end =
      TRY(walk_entries(log_, next, head_.leaves, [](std::string_view entry, Position first) {
        return for_each_frame(entry, first, [](const Frame&) -> Stored<bool> { return true; });
      }));
  if (end > head_.leaves) return {};
  return tl::unexpected(damaged_at(end, "record " + std::to_string(end) + " is missing"));
}

// Checks the tables of these names, which the MANIFEST doesn't name.
Stored<void> check_tables(const std::filesystem::path& directory,
                          const std::set<std::string>& unnamed, rocksdb::Env* env,
                          std::size_t buffer_bytes) {
  const auto log =
      TRY(RocksDatabase::open(directory, RocksDatabase::Mode::read_only, env, buffer_bytes));
  UnnamedTables tables(*log, directory, env);
  TRY(tables.begin());
  for (const std::string& name : unnamed) TRY(tables.check(name));
  if (tables.any_unreadable()) return tables.check_coverage();
  return {};
}

// Returns whether an opening that needs the records from `read_from` on reads the base: some of
// them were dropped.
Stored<bool> needs_base(const RocksDatabase& named, Position read_from) {
  const auto bytes = TRY(named.value(horizon_key));
  if (!bytes) return false;
  const auto horizon = TRY(decode_horizon(*bytes));
  return horizon.position >= read_from;
}

}  // namespace

Stored<void> check_unnamed_tables(const std::filesystem::path& directory, rocksdb::Env* env,
                                  std::size_t buffer_bytes, std::uint64_t wal_sequence,
                                  Position read_from) {
  using Mode = RocksDatabase::Mode;
  auto unnamed = TRY(table_names(directory));
  // Nothing to delete; and if a crash interrupted the creation, there is nothing to open yet.
  if (unnamed.empty()) return {};
  std::uint64_t last_sequence = 0;
  {
    auto named = RocksDatabase::open(directory, Mode::tables_only, env, buffer_bytes);
    if (!named) {
      StoreError error = std::move(named.error());
      if (error.file == directory.string()) error.file = manifest_of(directory).string();
      if (error.kind == StoreError::Kind::damaged) {
        error.message += " (" + error.file + "). Nothing was deleted";
      }
      return tl::unexpected(std::move(error));
    }
    for (const RocksDatabase::Table& table : (*named)->tables()) unnamed.erase(table.name);
    last_sequence = (*named)->last_sequence();
    if (read_from > 0) {
      const bool with_base = TRY(needs_base(**named, read_from));
      TRY((*named)->read_rows(read_from, with_base));
    }
  }
  if (!unnamed.empty()) TRY(check_tables(directory, unnamed, env, buffer_bytes));
  // The MANIFEST's number is at least that of the last write in a table that it names.
  if (wal_sequence <= last_sequence + 1) return {};
  return store_failure(StoreError::Kind::damaged,
                       "a write-ahead log is missing in " + directory.string() +
                           ": the first one that is there doesn't follow on the tables that " +
                           manifest_of(directory).filename().string() +
                           " names, or that was cut short. Nothing was deleted",
                       directory.string());
}

}  // namespace signalbox
