// The table in a RocksDB of its own. It is disposable: whatever is wrong with it, it is deleted and
// computed again from the log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "projections/table.h"

namespace signalbox {

class RocksTable final : public Table {
 public:
  struct Opened {
    std::unique_ptr<RocksTable> table;
    std::string recreated_because;  // empty: it is the one that was there, or the first one
  };

  // Opens the table in `directory`, or a new one. One that can't be read, or whose content has
  // another format number, is deleted and made anew; the answer says why. `in_use` if another
  // process has it open, `full` or `io` if not even a new one can be made.
  static Stored<Opened> open_or_recreate(const std::filesystem::path& directory,
                                         std::uint32_t format);
  ~RocksTable() override;

  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override;
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override;
  Stored<void> write(const TableBatch& batch, Position applied) override;
  [[nodiscard]] Position applied() const override;
  // After a write failed, the database is open for reading only, until this finds that its
  // directory can be written, and opens it anew. Reads fail with `io` for that moment. One that
  // can't be read then is made anew, and empty.
  Stored<void> reopen() override;

 private:
  struct State;

  explicit RocksTable(std::unique_ptr<State> state);
  static Stored<std::unique_ptr<State>> open(const std::filesystem::path& directory,
                                             std::uint32_t format);
  Stored<void> read_on(StoreError refusal);

  std::unique_ptr<State> state_;
};

}  // namespace signalbox
