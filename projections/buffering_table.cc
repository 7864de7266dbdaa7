#include "projections/buffering_table.h"

#include <iterator>
#include <utility>

namespace signalbox {
namespace {

// What a row takes in memory beside its bytes, about.
constexpr std::size_t row_overhead_bytes = 128;

std::size_t bytes_of(const std::string& key, const std::optional<std::string>& value) {
  return key.size() + (value ? value->size() : 0) + row_overhead_bytes;
}

}  // namespace

// A scan of the rows below with those that are held between them and instead of them.
class BufferingTable::Merge {
 public:
  Merge(const Rows& rows, std::string_view prefix, std::string_view from, ScanOrder order,
        const Visit& visit)
      : rows_(rows), prefix_(prefix), order_(order), visit_(visit) {
    next_ = order == ScanOrder::ascending ? rows.lower_bound(from) : rows.upper_bound(from);
  }

  // A row below: first the held ones before it. False: the visitor has seen enough.
  bool take(std::string_view key, std::string_view value) {
    while (const Rows::value_type* row = peek()) {
      if (row->first == key) {
        step();
        return visit_held(*row);
      }
      if ((row->first < key) != (order_ == ScanOrder::ascending)) break;
      step();
      if (!visit_held(*row)) return false;
    }
    enough_ = !visit_(key, value);
    return !enough_;
  }

  // The held ones that come after all below.
  void finish() {
    while (const Rows::value_type* row = enough_ ? nullptr : peek()) {
      step();
      visit_held(*row);
    }
  }

 private:
  const Rows::value_type* peek() const {
    const bool at_end = next_ == (order_ == ScanOrder::ascending ? rows_.end() : rows_.begin());
    if (at_end) return nullptr;
    const Rows::value_type& row = order_ == ScanOrder::ascending ? *next_ : *std::prev(next_);
    return row.first.starts_with(prefix_) ? &row : nullptr;
  }
  void step() { next_ = order_ == ScanOrder::ascending ? std::next(next_) : std::prev(next_); }
  bool visit_held(const Rows::value_type& row) {
    if (row.second && !visit_(row.first, *row.second)) enough_ = true;
    return !enough_;
  }

  const Rows& rows_;
  const std::string_view prefix_;
  const ScanOrder order_;
  const Visit& visit_;
  Rows::const_iterator next_;  // descending: behind the next one
  bool enough_ = false;
};

BufferingTable::BufferingTable(Table& below, std::size_t bytes_max)
    : below_(below),
      bytes_max_(bytes_max),
      below_applied_(below.applied()),
      applied_(below_applied_) {}

BufferingTable::View BufferingTable::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

Position BufferingTable::applied() const {
  const std::lock_guard lock(mutex_);
  return applied_;
}

std::optional<std::string> BufferingTable::held() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

Stored<std::optional<std::string>> BufferingTable::get(std::string_view key) const {
  const View now = view();
  if (now.rows != nullptr) {
    const auto place = now.rows->find(key);
    if (place != now.rows->end()) return place->second;
  }
  return below_.get(key);
}

Stored<void> BufferingTable::scan(std::string_view prefix, std::string_view from, ScanOrder order,
                                  const Visit& visit) const {
  static const Rows none;
  for (;;) {
    const View seen = view();
    Merge merge(seen.rows == nullptr ? none : *seen.rows, prefix, from, order, visit);
    // The scan below has begun when its first row comes, or its end. Until then the held rows may
    // have been written down, and newer ones after them.
    bool first = true;
    bool moved = false;
    const auto still_holds = [&] {
      if (std::exchange(first, false)) moved = view().generation != seen.generation;
      return !moved;
    };
    const auto scanned =
        below_.scan(prefix, from, order, [&](std::string_view key, std::string_view value) {
          return still_holds() && merge.take(key, value);
        });
    if (!still_holds()) continue;
    if (!scanned) return scanned;
    merge.finish();
    return {};
  }
}

Stored<void> BufferingTable::write(const TableBatch& batch, Position applied) {
  if (auto why = held()) {
    StoreError error;
    error.kind = StoreError::Kind::full;
    error.message = *why;
    return hold(batch, applied, error);
  }
  if (auto written = below_.write(batch, applied); !written) {
    if (written.error().kind == StoreError::Kind::damaged) return written;
    if (const Position below = below_.applied(); below != below_applied_) {
      // It lost rows over it: the batch doesn't follow on those that are left.
      let_go(below, written.error().message);
      return written;
    }
    return hold(batch, applied, written.error());
  }
  below_applied_ = applied;
  const std::lock_guard lock(mutex_);
  applied_ = applied;
  return {};
}

Stored<void> BufferingTable::hold(const TableBatch& batch, Position applied,
                                  const StoreError& why) {
  const View now = view();
  auto rows = std::make_shared<Rows>(now.rows == nullptr ? Rows{} : *now.rows);
  std::size_t bytes = bytes_;
  batch.for_each([&](std::string_view key, std::optional<std::string_view> value) {
    auto [place, is_new] = rows->try_emplace(std::string(key));
    if (!is_new) bytes -= bytes_of(place->first, place->second);
    place->second = value ? std::optional<std::string>(*value) : std::nullopt;
    bytes += bytes_of(place->first, place->second);
  });
  // An empty one holds its first batch always: then it is said why, and tried again.
  if (now.rows != nullptr && bytes > bytes_max_) return tl::unexpected(why);
  bytes_ = bytes;
  const std::lock_guard lock(mutex_);
  view_.rows = std::move(rows);
  why_ = why.message;
  applied_ = applied;
  return {};
}

void BufferingTable::let_go(Position applied, std::optional<std::string> why) {
  bytes_ = 0;
  below_applied_ = applied;
  const std::lock_guard lock(mutex_);
  view_.rows = nullptr;
  ++view_.generation;
  why_ = std::move(why);
  applied_ = applied;
}

Stored<void> BufferingTable::reopen() {
  if (!held()) return {};
  const auto still = [this](const StoreError& error) {
    const std::lock_guard lock(mutex_);
    why_ = error.message;
    return tl::unexpected(error);
  };
  if (auto ok = below_.reopen(); !ok) return still(ok.error());
  if (const Position below = below_.applied(); below != below_applied_) {
    let_go(below, std::nullopt);
    return {};
  }
  const Position reached = applied();
  if (reached == below_applied_) {
    let_go(reached, std::nullopt);
    return {};
  }
  const View now = view();
  TableBatch batch;
  for (const auto& [key, value] : *now.rows) {
    if (value) {
      batch.put(key, *value);
    } else {
      batch.erase(key);
    }
  }
  if (auto written = below_.write(batch, reached); !written) return still(written.error());
  let_go(reached, std::nullopt);
  return {};
}

}  // namespace signalbox
