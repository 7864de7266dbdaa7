#include "tools/bench/yardsticks.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include "domain/check.h"
#include "domain/try.h"
#include "store/rocks_database.h"
#include "tools/bench/bench_report.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t record_bytes = 300;

Called<DiskSpeed> measure(int file, std::chrono::nanoseconds duration) {
  const std::string record(record_bytes, 'r');
  Quantiles latencies;
  const auto start = SteadyClock::now();
  auto before = start;
  while (before - start < duration) {
    if (::write(file, record.data(), record.size()) != static_cast<ssize_t>(record.size()) ||
        ::fdatasync(file) != 0) {
      return tl::unexpected(io_error(std::string("fdatasync: ") + std::strerror(errno)));
    }
    const auto after = SteadyClock::now();
    latencies.add(after - before);
    before = after;
  }
  const std::chrono::duration<double> elapsed = before - start;
  return DiskSpeed{static_cast<double>(latencies.count()) / elapsed.count(), latencies.us(0.5)};
}

struct RawEntry {
  Position first = 0;
  std::string bytes;
};

CallError failed(const rocksdb::Status& status) {
  return io_error("RocksDB: " + status.ToString());
}

Called<std::unique_ptr<RocksDatabase>> open_log(const std::filesystem::path& data) {
  return TRY(
      called(RocksDatabase::open(data / "log", RocksDatabase::Mode::read_only, /*env=*/nullptr)));
}

// Calls `visit` with the first position and the bytes of each entry.
template <class Visit>
Called<void> for_each_entry(const RocksDatabase& database, Visit&& visit) {
  const auto entries = database.entries(TRY(called(database.head())).leaves);
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    const auto first = TRY(called(entry_position(entries->key())));
    visit(first, entries->value());
  }
  if (!entries->status().ok()) return tl::unexpected(failed(entries->status()));
  return {};
}

}  // namespace

Called<DiskSpeed> measure_disk(const std::filesystem::path& directory,
                               std::chrono::nanoseconds duration) {
  const std::string path = (directory / "fdatasync").string();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return tl::unexpected(io_error(path + ": " + std::strerror(errno)));
  auto speed = measure(file, duration);
  ::close(file);
  ::unlink(path.c_str());
  return speed;
}

Called<double> rewrite_raw(const std::filesystem::path& data,
                           const std::filesystem::path& directory, std::uint64_t batch_events) {
  std::vector<RawEntry> entries;
  Position tail = 0;
  {
    auto log = TRY(open_log(data));
    TRY(for_each_entry(*log, [&](Position first, const rocksdb::Slice& bytes) {
      entries.push_back({first, bytes.ToString()});
    }));
    const auto head = TRY(called(log->head()));
    tail = head.leaves;
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  if (const auto status = rocksdb::DB::Open(options, directory.string(), &opened); !status.ok()) {
    return tl::unexpected(failed(status));
  }
  const std::unique_ptr<rocksdb::DB> database(opened);
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const auto start = SteadyClock::now();
  rocksdb::WriteBatch batch;
  Position batch_first = 1;
  for (std::size_t index = 0; index < entries.size(); ++index) {
    batch.Put(entry_key(entries[index].first), entries[index].bytes);
    const Position next = index + 1 < entries.size() ? entries[index + 1].first : tail + 1;
    if (next - batch_first < batch_events && next <= tail) continue;
    if (const auto status = database->Write(synced, &batch); !status.ok()) {
      return tl::unexpected(failed(status));
    }
    batch.Clear();
    batch_first = next;
  }
  const std::chrono::duration<double> elapsed = SteadyClock::now() - start;
  return static_cast<double>(tail) / elapsed.count();
}

Called<double> scan_raw(const std::filesystem::path& data) {
  auto log = TRY(open_log(data));
  const auto head = TRY(called(log->head()));
  std::uint64_t bytes = 0;
  const auto start = SteadyClock::now();
  TRY(for_each_entry(*log, [&](Position, const rocksdb::Slice& entry) { bytes += entry.size(); }));
  const std::chrono::duration<double> elapsed = SteadyClock::now() - start;
  SIGNALBOX_CHECK(bytes > 0);
  return static_cast<double>(head.leaves) / elapsed.count();
}

}  // namespace signalbox
