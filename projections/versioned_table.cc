#include "projections/versioned_table.h"

#include <limits>
#include <utility>

#include "domain/try.h"
#include "projections/buffering_table.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

// The key of a version: 'v', the row's key with a 1 after each zero byte, two zero bytes, and the
// complement of the version, big endian. So versions are sorted by the row's key, the newest first.
// The value is 'p' and the row, or 'e' if the row was erased.
constexpr char versions_kind = 'v';
constexpr char put_mark = 'p';
constexpr char erased_mark = 'e';
constexpr std::size_t number_bytes = 8;
constexpr std::size_t tail_bytes = 2 + number_bytes;
constexpr Position newest_version = std::numeric_limits<Position>::max();

std::string versions_prefix(std::string_view prefix) {
  std::string stored(1, versions_kind);
  for (const char byte : prefix) {
    stored.push_back(byte);
    if (byte == '\0') stored.push_back('\1');
  }
  return stored;
}

std::string versions_of(std::string_view key) {
  std::string stored = versions_prefix(key);
  stored.append(2, '\0');
  return stored;
}

// Returns the row's key in a stored one without its version.
std::string key_in(std::string_view stored) {
  stored.remove_prefix(1);
  stored.remove_suffix(tail_bytes - number_bytes);
  std::string key;
  for (std::size_t at = 0; at < stored.size(); ++at) {
    key.push_back(stored[at]);
    if (stored[at] == '\0') ++at;
  }
  return key;
}

std::optional<std::string> row_in(std::string_view value) {
  if (value.empty() || value.front() != put_mark) return std::nullopt;
  return std::string(value.substr(1));
}

Stored<std::optional<std::string>> get_at(const Table& versions, std::string_view key,
                                          Position version) {
  const std::string prefix = versions_of(key);
  std::optional<std::string> found;
  TRY(versions.scan(prefix, keys::numbered(prefix, ~version), ScanOrder::ascending,
                    [&found](std::string_view, std::string_view value) {
                      found = row_in(value);
                      return false;
                    }));
  return found;
}

// Goes through all versions of the rows, and visits of each row the newest that isn't too new.
class VersionScan {
 public:
  VersionScan(Position version, ScanOrder order, const Table::Visit& visit)
      : version_(version), order_(order), visit_(visit) {}

  Stored<void> scan(const Table& versions, std::string_view prefix, std::string_view from) {
    std::string start = versions_of(from);
    // Descending, the versions of a row begin with the oldest.
    if (order_ == ScanOrder::descending) start.append(number_bytes, '\xFF');
    TRY(versions.scan(
        versions_prefix(prefix), start, order_,
        [this](std::string_view stored, std::string_view value) { return take(stored, value); }));
    if (!stopped_) (void)visit_row();
    return {};
  }

 private:
  // Returns false once the visitor has stopped.
  bool take(std::string_view stored, std::string_view value) {
    const std::string_view of = stored.substr(0, stored.size() - number_bytes);
    if (of != stored_) {
      if (!visit_row()) {
        stopped_ = true;
        return false;
      }
      stored_ = of;
    }
    const Position version = ~keys::trailing_number(stored);
    if (version > version_) return true;
    if (order_ == ScanOrder::ascending && found_) return true;
    found_ = true;
    row_ = row_in(value);
    return true;
  }
  bool visit_row() {
    found_ = false;
    const std::optional<std::string> row = std::exchange(row_, std::nullopt);
    return !row || visit_(key_in(stored_), *row);
  }

  const Position version_;
  const ScanOrder order_;
  const Table::Visit& visit_;
  std::string stored_;  // the present row's key as stored, without the version
  bool found_ = false;  // a version of it that isn't too new
  std::optional<std::string> row_;
  bool stopped_ = false;
};

Stored<void> scan_at(const Table& versions, Position version, std::string_view prefix,
                     std::string_view from, ScanOrder order, const Table::Visit& visit) {
  return VersionScan(version, order, visit).scan(versions, prefix, from);
}

// The rows of one version; they can't be written.
class VersionRows final : public Table {
 public:
  VersionRows(const Table& versions, Position version) : versions_(versions), version_(version) {}

  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override {
    return get_at(versions_, key, version_);
  }
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override {
    return scan_at(versions_, version_, prefix, from, order, visit);
  }
  Stored<void> write(const TableBatch& /*batch*/, Position /*applied*/) override {
    return store_failure(StoreError::Kind::full, "rows over an earlier version are in memory only");
  }
  [[nodiscard]] Position applied() const override { return version_; }

 private:
  const Table& versions_;
  const Position version_;
};

// The rows of one version, with those that were written over them in memory. One thread: the past
// is moved on event by event, and would copy all rows that were written over for each of them.
class OverlaidRows final : public Table {
 public:
  OverlaidRows(const Table& versions, Position version) : below_(versions, version) {}

  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override {
    return rows_.get(key);
  }
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override {
    return rows_.scan(prefix, from, order, visit);
  }
  Stored<void> write(const TableBatch& batch, Position applied) override {
    return rows_.write(batch, applied);
  }
  [[nodiscard]] Position applied() const override { return rows_.applied(); }

 private:
  VersionRows below_;
  BufferingTable rows_{below_, BufferingTable::held_bytes_max,
                       BufferingTable::Readers::writers_thread};
};

}  // namespace

Stored<std::optional<std::string>> VersionedTable::get(std::string_view key) const {
  return get_at(versions_, key, newest_version);
}

Stored<void> VersionedTable::scan(std::string_view prefix, std::string_view from, ScanOrder order,
                                  const Visit& visit) const {
  return scan_at(versions_, newest_version, prefix, from, order, visit);
}

Stored<void> VersionedTable::write(const TableBatch& batch, Position applied) {
  TableBatch versions;
  std::string value;
  batch.for_each([&](std::string_view key, std::optional<std::string_view> row) {
    value.assign(1, row ? put_mark : erased_mark);
    if (row) value.append(*row);
    versions.put(keys::numbered(versions_of(key), ~applied), value);
  });
  return versions_.write(versions, applied);
}

std::unique_ptr<Table> VersionedTable::at(Position version) const {
  return std::make_unique<OverlaidRows>(versions_, version);
}

}  // namespace signalbox
