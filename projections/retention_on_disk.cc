#include "projections/retention_on_disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <system_error>

#include "domain/try.h"
#include "projections/rocks_table.h"
#include "projections/run_index.h"
#include "store/file_descriptor.h"
#include "store/leaf_groups.h"

namespace signalbox {
namespace {

// Returns whether another process has the tables open: RocksDB locks this file.
bool is_open_elsewhere(const std::filesystem::path& tables) {
  const FileDescriptor file(::open((tables / "LOCK").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return false;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file.get(), F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

}  // namespace

std::filesystem::path scratch_of(const std::filesystem::path& data, PlanScratch scratch) {
  const std::filesystem::path projections = data / "projections";
  switch (scratch) {
    case PlanScratch::retention:
      return projections / "retention";
    case PlanScratch::dry_run:
      return projections / "retention-dry-run";
    case PlanScratch::followed_drop:
      break;
  }
  return projections / "followed_drop";
}

Stored<void> remove_left_plans(const std::filesystem::path& data) {
  for (const auto each :
       {PlanScratch::retention, PlanScratch::dry_run, PlanScratch::followed_drop}) {
    const std::filesystem::path scratch = scratch_of(data, each);
    if (each == PlanScratch::dry_run && is_open_elsewhere(scratch)) continue;
    std::error_code failed;
    std::filesystem::remove_all(scratch, failed);
    if (!failed) continue;
    return store_failure(StoreError::Kind::io,
                         "can't remove " + scratch.string() + ": " + failed.message(),
                         scratch.string());
  }
  return {};
}

Stored<RetentionPlan> plan_on_disk(const std::filesystem::path& scratch,
                                   const std::function<Stored<RetentionPlan>(Table&)>& plan) {
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  auto opened = TRY(RocksTable::open_or_recreate(scratch, RunIndex::table_format));
  auto planned = plan(*opened.table);
  opened.table.reset();
  std::filesystem::remove_all(scratch, ignored);
  return planned;
}

std::uintmax_t drop_bytes(const HistoryDrop& drop) {
  constexpr std::uintmax_t hash_bytes = sizeof(Digest);
  const auto group_of = [](Position position) { return (position - 1) / leaf_group_leaves; };
  std::uintmax_t with_leaves = 0;  // groups of which some record is kept
  std::uint64_t next = 0;          // the first one that isn't counted yet
  for (const PositionRange& range : drop.kept) {
    const std::uint64_t first = std::max(group_of(range.first), next);
    const std::uint64_t end = group_of(range.last) + 1;
    if (end > first) with_leaves += end - first;
    next = std::max(next, end);
  }
  const std::uintmax_t groups = drop.position / leaf_group_leaves + 1;
  return drop.base.size() + groups * hash_bytes + with_leaves * leaf_group_leaves * hash_bytes;
}

Stored<void> require_drop_space(const std::filesystem::path& data, const HistoryDrop& drop) {
  constexpr std::uintmax_t service_bytes_min = 64 * 1024 * 1024;
  std::error_code unknown;  // on an error `available` is the maximum value
  const std::uintmax_t available = std::filesystem::space(data, unknown).available;
  if (available >= 2 * drop_bytes(drop) + service_bytes_min) return {};
  return store_failure(StoreError::Kind::full, "too little space on the disk of " + data.string() +
                                                   ": " + std::to_string(available) + " bytes");
}

}  // namespace signalbox
