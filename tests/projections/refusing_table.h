// A table in memory that can be made to refuse writes as a full, failing or damaged disk does.
#pragma once

#include <optional>
#include <utility>

#include "projections/memory_table.h"

namespace signalbox {

class RefusingTable final : public Table {
 public:
  std::optional<StoreError::Kind> refusal;    // error of writes and reopen(), if set
  std::optional<Position> reopened_position;  // applied position after the next reopen(), if set

  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override {
    return rows_.get(key);
  }
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override {
    return rows_.scan(prefix, from, order, visit);
  }
  Stored<void> write(const TableBatch& batch, Position applied) override {
    if (auto ok = refuse(); !ok) return ok;
    applied_ = applied;
    return rows_.write(batch, applied);
  }
  [[nodiscard]] Position applied() const override { return applied_; }
  Stored<void> reopen() override {
    if (auto ok = refuse(); !ok) return ok;
    applied_ = std::exchange(reopened_position, std::nullopt).value_or(applied_);
    return {};
  }

 private:
  Stored<void> refuse() const {
    if (!refusal) return {};
    StoreError error;
    error.kind = *refusal;
    error.message = "refused, as the test wishes";
    return tl::unexpected(std::move(error));
  }

  MemoryTable rows_;
  Position applied_ = 0;
};

}  // namespace signalbox
