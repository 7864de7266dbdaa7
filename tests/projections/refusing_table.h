// A table in memory that can be made to refuse writes as a full, failing or damaged disk does.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "projections/memory_table.h"

namespace signalbox {

// A value that a test sets while another thread reads it.
template <class Value>
class Guarded {
 public:
  Guarded& operator=(Value value) {
    exchange(std::move(value));
    return *this;
  }
  Value exchange(Value value) {
    const std::scoped_lock lock(mutex_);
    return std::exchange(value_, std::move(value));
  }
  [[nodiscard]] Value get() const {
    const std::scoped_lock lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  Value value_{};
};

class RefusingTable final : public Table {
 public:
  Guarded<std::optional<StoreError::Kind>> refusal;    // error of writes and reopen(), if set
  Guarded<std::optional<Position>> reopened_position;  // applied position after the next reopen()

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
  // `filled` must be a MemoryTable.
  void replace(std::unique_ptr<Table> filled) override {
    rows_.replace(std::move(filled));
    applied_ = rows_.applied();
  }

 private:
  Stored<void> refuse() const {
    const std::optional<StoreError::Kind> kind = refusal.get();
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
