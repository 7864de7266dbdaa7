// A table that keeps working while its disk fails: rows that can't be written to the table below
// are buffered in memory, where reads find them, until the table below accepts them.
//
// The table below stays at its position, so a crash loses nothing that can't be recomputed from the
// log. The buffer is bounded; beyond the bound, writes fail with the error of the table below.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "projections/table.h"

namespace signalbox {

// Threads as Table.
class BufferingTable final : public Table {
 public:
  // Bytes.
  static constexpr std::size_t held_bytes_max = 64 * 1024 * 1024;

  // Where reads come from. With `any_thread` a write copies the buffered rows, so that no reader
  // waits for it. With `writers_thread` it changes them in place, which costs what the batch does.
  enum class Readers { any_thread, writers_thread };

  // `below` must outlive this object, which must be its only writer.
  explicit BufferingTable(Table& below, std::size_t bytes_max = held_bytes_max,
                          Readers readers = Readers::any_thread);

  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override;
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override;
  // Buffers the batch if the table below fails. Fails with `full` or `io` only when the buffer is
  // full, and with `damaged` at once.
  Stored<void> write(const TableBatch& batch, Position applied) override;
  [[nodiscard]] Position applied() const override;
  // Reopens the table below and writes the buffered rows to it. If the table below comes back at
  // another position than before, the buffered rows don't follow on it any more and are discarded.
  Stored<void> reopen() override;
  [[nodiscard]] std::optional<std::string> held() const override;
  [[nodiscard]] std::optional<std::string> damage() const override { return below_.damage(); }
  void note_damage(const std::string& what) override { below_.note_damage(what); }
  void check_files(const std::function<bool()>& go_on) const override { below_.check_files(go_on); }
  // Discards the buffered rows.
  Stored<std::unique_ptr<Table>> begin_rebuild() override;
  void finish_rebuild(std::unique_ptr<Table> filled) override;
  // Discards the buffered rows.
  void replace(std::unique_ptr<Table> filled) override;

 private:
  // Rows by key; nullopt: erased. A map is never changed once readers on other threads share it.
  using Rows = std::map<std::string, std::optional<std::string>, std::less<>>;

  struct View {
    std::shared_ptr<const Rows> rows;  // nullptr: no rows are buffered
    std::uint64_t generation = 0;
  };
  class Merge;

  [[nodiscard]] View view() const;
  Stored<void> hold(const TableBatch& batch, Position applied, const StoreError& why);
  // Returns the map that `batch` is to be written to: the buffered rows, or a copy of them.
  [[nodiscard]] std::shared_ptr<Rows> rows_for(const TableBatch& batch) const;
  void discard_rows(Position applied, std::optional<std::string> why);

  Table& below_;
  const std::size_t bytes_max_;
  const Readers readers_;
  Position below_applied_;  // used on the writer's thread only
  std::size_t bytes_ = 0;   // of the buffered rows; used on the writer's thread only

  mutable std::mutex mutex_;
  View view_;
  // Why the table below refuses writes; nullopt: it doesn't.
  std::optional<std::string> hold_reason_;
  Position applied_;
};

}  // namespace signalbox
