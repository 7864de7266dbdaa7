// A table in memory that can be made to refuse writes as a full, failing or damaged disk does.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "projections/memory_table.h"

namespace signalbox {

class RefusingTable final : public Table {
 public:
  // A test sets them, and reads applied(), while another thread writes.
  std::atomic<std::optional<StoreError::Kind>> refusal;  // error of writes and reopen(), if set
  // The applied position after the next reopen(), if set.
  std::atomic<std::optional<std::uint32_t>> reopened_position;

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
    if (const auto position = reopened_position.exchange(std::nullopt)) applied_ = *position;
    return {};
  }

 private:
  Stored<void> refuse() const {
    const std::optional<StoreError::Kind> kind = refusal;
    if (!kind) return {};
    StoreError error;
    error.kind = *kind;
    error.message = "refused, as the test wishes";
    return tl::unexpected(std::move(error));
  }

  MemoryTable rows_;
  std::atomic<Position> applied_ = 0;
};

}  // namespace signalbox
