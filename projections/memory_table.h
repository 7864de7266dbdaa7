// An implementation of Table in memory, for tests and offline tools.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>

#include "projections/table.h"

namespace signalbox {

class MemoryTable final : public Table {
 public:
  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override;
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override;
  Stored<void> write(const TableBatch& batch, Position applied) override;
  [[nodiscard]] Position applied() const override;
  // `filled` must be a MemoryTable.
  void replace(std::unique_ptr<Table> filled) override;

 private:
  using Rows = std::map<std::string, std::string, std::less<>>;

  mutable std::shared_mutex mutex_;
  Rows rows_;
  Position applied_ = 0;
};

}  // namespace signalbox
