#include "server/cell/cell_mark.h"

#include <charconv>

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

Stored<std::optional<std::string>> read_mark(const std::filesystem::path& data) {
  auto found = read_file(mark_of(data), mark_bytes_max);
  if (!found && found.error().kind == StoreError::Kind::not_found) return std::nullopt;
  return found;
}

Stored<void> require_replica_of(const std::filesystem::path& data, const std::string& cell) {
  const auto found = TRY(read_mark(data));
  if (!found || *found == cell) return {};
  const std::string mark = mark_of(data).string();
  return store_failure(StoreError::Kind::unsupported,
                       "the log in " + data.string() + " is a replica of the cell " + *found +
                           (cell.empty() ? ", and isn't written without it: set the table [cell]"
                                         : ", not of " + cell + ": set cell.name") +
                           ". To take it out of its cell for good, remove " + mark,
                       mark);
}

std::filesystem::path seen_file(const std::filesystem::path& data) { return data / "cell_seen"; }

Stored<void> note_seen(const std::filesystem::path& data, const std::string& cell,
                       Position position) {
  return replace_file(seen_file(data), std::to_string(position) + " " + cell);
}

Stored<std::optional<Position>> read_seen(const std::filesystem::path& data,
                                          const std::string& cell) {
  const auto found = read_file(seen_file(data), mark_bytes_max);
  if (!found && found.error().kind == StoreError::Kind::not_found) return std::nullopt;
  if (!found) return tl::unexpected(found.error());
  Position position = 0;
  const char* const end = found->data() + found->size();
  const auto [after, error] = std::from_chars(found->data(), end, position);
  if (error != std::errc() || after == end || *after != ' ') {
    const std::string file = seen_file(data).string();
    return store_failure(StoreError::Kind::damaged,
                         file +
                             " isn't what a server of a cell writes: restore it, or remove it if "
                             "you are sure that the cell's database has lost nothing",
                         file);
  }
  if (std::string_view(after + 1, end) != cell) return std::nullopt;
  return position;
}

}  // namespace signalbox
