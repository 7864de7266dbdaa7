#include "projections/memory_table.h"

#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace signalbox {

Stored<std::optional<std::string>> MemoryTable::get(std::string_view key) const {
  const std::shared_lock lock(mutex_);
  const auto place = rows_.find(key);
  if (place == rows_.end()) return std::nullopt;
  return place->second;
}

// Copies the rows before visiting them, so that the visitor sees one state of the table and may
// read it.
Stored<void> MemoryTable::scan(std::string_view prefix, std::string_view from, ScanOrder order,
                               const Visit& visit) const {
  std::vector<std::pair<std::string, std::string>> seen;
  {
    const std::shared_lock lock(mutex_);
    if (order == ScanOrder::ascending) {
      for (auto place = rows_.lower_bound(from);
           place != rows_.end() && place->first.starts_with(prefix); ++place) {
        seen.emplace_back(*place);
      }
    } else {
      for (auto place = rows_.upper_bound(from);
           place != rows_.begin() && std::prev(place)->first.starts_with(prefix); --place) {
        seen.emplace_back(*std::prev(place));
      }
    }
  }
  for (const auto& [key, value] : seen) {
    if (!visit(key, value)) break;
  }
  return {};
}

Stored<void> MemoryTable::write(const TableBatch& batch, Position applied) {
  const std::unique_lock lock(mutex_);
  batch.for_each([this](std::string_view key, std::optional<std::string_view> value) {
    if (value) {
      rows_.insert_or_assign(std::string(key), std::string(*value));
    } else if (const auto place = rows_.find(key); place != rows_.end()) {
      rows_.erase(place);
    }
  });
  applied_ = applied;
  return {};
}

void MemoryTable::replace(std::unique_ptr<Table> filled) {
  auto& other = dynamic_cast<MemoryTable&>(*filled);
  const std::scoped_lock lock(mutex_, other.mutex_);
  rows_.swap(other.rows_);
  applied_ = other.applied_;
}

Position MemoryTable::applied() const {
  const std::shared_lock lock(mutex_);
  return applied_;
}

}  // namespace signalbox
