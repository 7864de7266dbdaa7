#include "store/rocks_filling.h"

#include <rocksdb/env.h>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

// As large as those that compactions write.
constexpr std::size_t table_bytes = std::size_t{64} * 1024 * 1024;

rocksdb::IngestExternalFileOptions taking_over() {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  // The tables stay as they were written, so that the checksums which their writer computed hold.
  options.write_global_seqno = false;
  options.verify_file_checksum = false;
  return options;
}

}  // namespace

RocksFilling::RocksFilling(RocksDatabase& database, std::filesystem::path scratch)
    : database_(database), scratch_(std::move(scratch)) {
  entries_.tables.column_family = database.entries_;
  values_.tables.column_family = database.head_;
}

RocksFilling::~RocksFilling() {
  for (Family* family : {&entries_, &values_}) family->writer.reset();
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
}

Stored<void> RocksFilling::put_entry(Position first, std::string_view entry) {
  return put(entries_, entry_key(first), entry);
}

Stored<void> RocksFilling::put_value(std::string_view key, std::string_view value) {
  return put(values_, {key.data(), key.size()}, value);
}

Stored<void> RocksFilling::put(Family& family, const rocksdb::Slice& key, std::string_view value) {
  if (family.writer && family.writer->FileSize() >= table_bytes) TRY(end_table(family));
  if (!family.writer) TRY(begin_table(family));
  const rocksdb::Status status = family.writer->Put(key, {value.data(), value.size()});
  if (!status.ok()) return tl::unexpected(database_.error(status));
  return {};
}

Stored<void> RocksFilling::begin_table(Family& family) {
  TRY(make_directories(std::filesystem::absolute(scratch_)));
  const std::string file = (scratch_ / (std::to_string(++tables_) + ".sst")).string();
  const rocksdb::Options options = database_.database_->GetOptions(family.tables.column_family);
  family.writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(options), options,
                                                           family.tables.column_family);
  const rocksdb::Status status = family.writer->Open(file);
  if (!status.ok()) return tl::unexpected(database_.error(status));
  family.tables.external_files.push_back(file);
  return {};
}

Stored<void> RocksFilling::end_table(Family& family) {
  rocksdb::ExternalSstFileInfo table;
  const rocksdb::Status status = family.writer->Finish(&table);
  if (!status.ok()) return tl::unexpected(database_.error(status));
  family.writer.reset();
  family.tables.files_checksums.push_back(std::move(table.file_checksum));
  family.tables.files_checksum_func_names.push_back(std::move(table.file_checksum_func_name));
  return {};
}

Stored<void> RocksFilling::finish() {
  std::vector<rocksdb::IngestExternalFileArg> filled;
  for (Family* family : {&entries_, &values_}) {
    if (family->writer) TRY(end_table(*family));
    if (family->tables.external_files.empty()) continue;
    family->tables.options = taking_over();
    filled.push_back(family->tables);
  }
  const rocksdb::Status status = database_.database_->IngestExternalFiles(filled);
  if (!status.ok()) return tl::unexpected(database_.error(status));
  return {};
}

}  // namespace signalbox
