// The key-value table that read models are written to: ordered keys, atomic batches, and the log
// position up to which it has been applied.
//
// The implementations RocksTable (on disk) and MemoryTable (tests, offline tools) pass one
// conformance suite (tests/projections/table_conformance_test.cc). Keys are compared byte by byte.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

// Puts and erasures, in order, copied into one buffer whose memory clear() keeps.
class TableBatch {
 public:
  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  void clear();
  [[nodiscard]] bool empty() const { return operations_.empty(); }

  // Calls `visit(key, value)` for each operation in order; a value of nullopt means erase.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Operation& operation : operations_) {
      const std::string_view bytes = std::string_view(bytes_).substr(operation.offset);
      const std::string_view value = bytes.substr(operation.key_bytes, operation.value_bytes);
      visit(bytes.substr(0, operation.key_bytes),
            operation.is_put ? std::optional(value) : std::nullopt);
    }
  }

 private:
  struct Operation {
    std::size_t offset;
    std::size_t key_bytes;
    std::size_t value_bytes;
    bool is_put;
  };

  std::string bytes_;
  std::vector<Operation> operations_;
};

enum class ScanOrder { ascending, descending };

// All calls may fail with `damaged`, `full` or `io`, and with `rebuilding` between the damage and
// the end of a rebuild; the contents can be recomputed from the log.
class Table {
 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  virtual ~Table() = default;

  // Returns the value of a key; nullopt if it doesn't exist. Any thread.
  [[nodiscard]] virtual Stored<std::optional<std::string>> get(std::string_view key) const = 0;

  // Calls `visit(key, value)` for the keys that begin with `prefix`, in order from the first ≥
  // `from` (descending: ≤ `from`), until it returns false. `from` must begin with `prefix`. Sees
  // the table as of the beginning of the scan. Any thread.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  virtual Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                            const Visit& visit) const = 0;

  // Applies the batch and sets applied() atomically. Doesn't sync: after a crash the table is as
  // after some earlier write. One thread at a time.
  virtual Stored<void> write(const TableBatch& batch, Position applied) = 0;

  // Returns the position given with the latest write; 0 for a new table. Any thread.
  [[nodiscard]] virtual Position applied() const = 0;

  // Makes the table writable again after a failed write, if that is possible. applied() may differ
  // afterwards, and may be earlier. Called on the writer's thread.
  virtual Stored<void> reopen() { return {}; }

  // Returns the reason why the latest rows are in memory only; nullopt if they aren't. Any thread.
  [[nodiscard]] virtual std::optional<std::string> held() const { return std::nullopt; }

  // Returns what is wrong with the rows, so that they must be computed from the log again; nullopt
  // as long as nothing was noticed. Any thread.
  [[nodiscard]] virtual std::optional<std::string> damage() const { return std::nullopt; }
  // Notes damage that a caller noticed. Any thread.
  virtual void note_damage(const std::string& /*what*/) {}
  // Reads everything from the disk and notes what isn't as it was written. Asks `go_on` between
  // files and stops if it returns false. Any thread.
  virtual void check_files(const std::function<bool()>& /*go_on*/) const {}

  // Erases everything and returns an empty table to be filled. Until finish_rebuild() every read
  // fails with `rebuilding` and nothing may be written. Blocks until no read is under way. May be
  // called again to begin anew; the former result must be destroyed before. Fails with `io` or
  // `full`. Called on the writer's thread.
  virtual Stored<std::unique_ptr<Table>> begin_rebuild();
  // Takes over the rows of the table from begin_rebuild(): there is no damage any more. Called on
  // the writer's thread.
  virtual void finish_rebuild(std::unique_ptr<Table> /*filled*/) {}

  // Replaces all rows by those of `filled`, a table of the same kind in another place next to this
  // one's. Blocks until the reads that are under way have ended; those that begin meanwhile don't
  // wait, and get the former rows or the new ones. If that fails the damage is noted. Called on the
  // writer's thread.
  virtual void replace(std::unique_ptr<Table> /*filled*/) {}
};

// Returns the smallest string greater than all strings that begin with `prefix`; nullopt if there
// is none (a prefix of 0xFF bytes only).
std::optional<std::string> after_prefix(std::string_view prefix);

}  // namespace signalbox
