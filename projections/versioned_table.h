// A table that keeps every version of its rows, so that it can be read as it was after any write.
//
// The versions are rows of another table, which keeps them on the disk or in memory. A row costs
// one version for each write that changes it: with few writes of many records, most rows have one
// or two.
#pragma once

#include <memory>
#include <string>

#include "projections/table.h"

namespace signalbox {

// Threads as the table below.
class VersionedTable final : public Table {
 public:
  // `versions` must outlive this object, which must be its only writer of keys that begin with 'v'.
  explicit VersionedTable(Table& versions) : versions_(versions) {}

  // Read the newest versions.
  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override;
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override;
  // Adds a version of each row in the batch. `applied` increases from write to write.
  Stored<void> write(const TableBatch& batch, Position applied) override;
  [[nodiscard]] Position applied() const override { return versions_.applied(); }

  // Returns the rows as the writes up to `version` left them, which nothing changes any more.
  // Writes to it are kept in memory, as far as BufferingTable::held_bytes_max goes, and only it has
  // them. This object must outlive it. One thread at a time, also for reads.
  [[nodiscard]] std::unique_ptr<Table> at(Position version) const;

 private:
  Table& versions_;
};

}  // namespace signalbox
