// The implementation of Table in a RocksDB database of its own. It is disposable: if anything is
// wrong with it, it is deleted and recomputed from the log.
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
    // Empty: the existing table was opened, or the first one created.
    std::string recreated_because;
  };

  // Opens the table in `directory`, or creates one. A table that can't be read, or has another
  // format number, is deleted and recreated; the result has the reason, and for one that can't be
  // read it is also the table's damage(). Fails with `in_use` if another process has it open, and
  // with `full` or `io` if not even a new one can be created.
  static Stored<Opened> open_or_recreate(const std::filesystem::path& directory,
                                         std::uint32_t format);
  ~RocksTable() override;

  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override;
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override;
  Stored<void> write(const TableBatch& batch, Position applied) override;
  [[nodiscard]] Position applied() const override;
  // After a failed write the database is open for reading only until this call finds the directory
  // writable and reopens it. Reads fail with `io` meanwhile. If the table can't be read then, it is
  // recreated empty.
  Stored<void> reopen() override;
  // A block with a wrong checksum is noted when it is read.
  [[nodiscard]] std::optional<std::string> damage() const override;
  void note_damage(const std::string& what) override;
  void check_files(const std::function<bool()>& go_on) const override;
  Stored<std::unique_ptr<Table>> begin_rebuild() override;
  void finish_rebuild(std::unique_ptr<Table> filled) override;
  // Renames the directory of `filled`, which must be on the same file system, and then deletes the
  // replaced one: a crash in between leaves at worst no read models. Reads go on meanwhile.
  void replace(std::unique_ptr<Table> filled) override;

 private:
  struct State;

  explicit RocksTable(std::unique_ptr<State> state);
  static Stored<std::unique_ptr<State>> open(const std::filesystem::path& directory,
                                             std::uint32_t format);
  static Stored<std::unique_ptr<State>> create(const std::filesystem::path& directory,
                                               std::uint32_t format);
  [[nodiscard]] bool is_live(const std::string& name) const;
  Stored<void> reopen_read_only(StoreError refusal);

  std::unique_ptr<State> state_;
};

}  // namespace signalbox
