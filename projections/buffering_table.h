// A table that goes on while its disk doesn't: rows that can't be written to the table below are
// held in memory, where reads find them, until it takes them.
//
// The table below stays at the position where it was, so a crash loses nothing that the log can't
// give again. What is held is bounded; past that, writes fail as they do below.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "projections/table.h"

namespace signalbox {

class BufferingTable final : public Table {
 public:
  static constexpr std::size_t held_bytes_max = 64 * 1024 * 1024;

  // `below` outlives it, and is written by it alone.
  explicit BufferingTable(Table& below, std::size_t bytes_max = held_bytes_max);

  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override;
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override;
  // `full` and `io` only past what may be held. `damaged` is never held.
  Stored<void> write(const TableBatch& batch, Position applied) override;
  [[nodiscard]] Position applied() const override;
  // Writes down what is held. If the table below comes back with another position than it had, what
  // is held doesn't follow on that any more, and is dropped.
  Stored<void> reopen() override;
  [[nodiscard]] std::optional<std::string> held() const override;

 private:
  // nullopt: erased. Never changed once it is shared with readers.
  using Rows = std::map<std::string, std::optional<std::string>, std::less<>>;

  struct View {
    std::shared_ptr<const Rows> rows;  // nullptr: none are held
    std::uint64_t generation = 0;
  };
  class Merge;

  [[nodiscard]] View view() const;
  Stored<void> hold(const TableBatch& batch, Position applied, const StoreError& why);
  void let_go(Position applied, std::optional<std::string> why);

  Table& below_;
  const std::size_t bytes_max_;
  Position below_applied_;  // the writer's thread only
  std::size_t bytes_ = 0;   // likewise

  mutable std::mutex mutex_;
  View view_;
  std::optional<std::string> why_;  // the table below refuses
  Position applied_;
};

}  // namespace signalbox
