#include "projections/table.h"

namespace signalbox {

Stored<std::unique_ptr<Table>> Table::begin_rebuild() {
  return store_failure(StoreError::Kind::io, "this table can't be rebuilt");
}

void TableBatch::put(std::string_view key, std::string_view value) {
  operations_.push_back({bytes_.size(), key.size(), value.size(), true});
  bytes_.append(key).append(value);
}

void TableBatch::erase(std::string_view key) {
  operations_.push_back({bytes_.size(), key.size(), 0, false});
  bytes_.append(key);
}

void TableBatch::clear() {
  bytes_.clear();
  operations_.clear();
}

std::optional<std::string> after_prefix(std::string_view prefix) {
  std::string after(prefix);
  while (!after.empty() && after.back() == '\xFF') after.pop_back();
  if (after.empty()) return std::nullopt;
  after.back() = static_cast<char>(static_cast<unsigned char>(after.back()) + 1);
  return after;
}

}  // namespace signalbox
