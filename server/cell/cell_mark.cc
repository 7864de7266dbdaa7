#include "server/cell/cell_mark.h"

#include "domain/try.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr std::size_t mark_bytes_max = 1024;

std::filesystem::path mark_of(const std::filesystem::path& data) { return data / "cell"; }

}  // namespace

Stored<void> mark_as_replica(const std::filesystem::path& data, const std::string& cell) {
  const auto found = read_file(mark_of(data), mark_bytes_max);
  if (found && *found == cell) return {};
  return replace_file(mark_of(data), cell);
}

Stored<void> require_replica_of(const std::filesystem::path& data, const std::string& cell) {
  const auto found = read_file(mark_of(data), mark_bytes_max);
  if (!found && found.error().kind == StoreError::Kind::not_found) return {};
  if (!found) return tl::unexpected(found.error());
  if (*found == cell) return {};
  const std::string mark = mark_of(data).string();
  return store_failure(StoreError::Kind::unsupported,
                       "the log in " + data.string() + " is a replica of the cell " + *found +
                           (cell.empty() ? ", and isn't written without it: set the table [cell]"
                                         : ", not of " + cell + ": set cell.name") +
                           ". To take it out of its cell for good, remove " + mark,
                       mark);
}

}  // namespace signalbox
