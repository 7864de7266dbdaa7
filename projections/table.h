// The small table that read models write through: ordered keys, atomic batches, and the position of
// the log up to which it has been applied.
//
// Two implementations, RocksTable (on disk) and MemoryTable (tests, offline tools), pass one
// conformance suite (tests/projections/table_conformance_test.cc). Keys are compared byte by byte.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

// Puts and erasures, in order. Keeps copies in one buffer, which clear() doesn't give back.
class TableBatch {
 public:
  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  void clear();
  [[nodiscard]] bool empty() const { return operations_.empty(); }

  // `visit(key, value)`, where no value means erase.
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

// Errors of all calls: `damaged`, `full` or `io`; the content can be recomputed from the log.
class Table {
 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  virtual ~Table() = default;

  // Any thread.
  [[nodiscard]] virtual Stored<std::optional<std::string>> get(std::string_view key) const = 0;

  // Calls `visit(key, value)` for the keys that begin with `prefix`, from the first one that is
  // ≥ `from` (descending: ≤ `from`) on, until it returns false. `from` begins with `prefix`. Sees
  // the table as it was when the scan began. Any thread.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  virtual Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                            const Visit& visit) const = 0;

  // Applies the batch and sets applied(), all or nothing. Not synced: after a crash the table is as
  // it was after some earlier write. One thread at a time.
  virtual Stored<void> write(const TableBatch& batch, Position applied) = 0;

  // The position given with the latest write; 0 for a new table. Any thread.
  [[nodiscard]] virtual Position applied() const = 0;

  // After a write that failed: makes the table one that can be written again, where that can be
  // done. applied() may be another one afterwards, an earlier one too. The writer's thread.
  virtual Stored<void> reopen() { return {}; }

  // Why the latest rows are in memory only, or nothing. Any thread.
  [[nodiscard]] virtual std::optional<std::string> held() const { return std::nullopt; }
};

// The smallest string that is greater than all that begin with `prefix`, or nothing if there is
// none (a prefix of 0xFF bytes only).
std::optional<std::string> after_prefix(std::string_view prefix);

}  // namespace signalbox
