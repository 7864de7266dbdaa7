#include "projections/buffering_table.h"

#include <iterator>
#include <utility>

namespace signalbox {
namespace {

// Approximate memory of a row in addition to its bytes.
constexpr std::size_t row_overhead_bytes = 128;

std::size_t bytes_of(std::string_view key, const std::optional<std::string_view>& value) {
  return key.size() + (value ? value->size() : 0) + row_overhead_bytes;
}

}  // namespace

// Merges a scan of the table below with the buffered rows, which replace rows of the same key.
class BufferingTable::Merge {
 public:
  Merge(const Rows& rows, std::string_view prefix, std::string_view from, ScanOrder order,
        const Visit& visit)
      : rows_(rows), prefix_(prefix), order_(order), visit_(visit) {
    next_ = order == ScanOrder::ascending ? rows.lower_bound(from) : rows.upper_bound(from);
  }

  // Visits a row of the table below, after the buffered rows that precede it. Returns false once
  // the visitor has stopped.
  bool visit_below(std::string_view key, std::string_view value) {
    while (const Rows::value_type* row = peek()) {
      if (row->first == key) {
        step();
        return visit_held(*row);
      }
      if ((row->first < key) != (order_ == ScanOrder::ascending)) break;
      step();
      if (!visit_held(*row)) return false;
    }
    stopped_ = !visit_(key, value);
    return !stopped_;
  }

  // Visits the buffered rows that follow the last row below.
  void finish() {
    while (const Rows::value_type* row = stopped_ ? nullptr : peek()) {
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
    if (row.second && !visit_(row.first, *row.second)) stopped_ = true;
    return !stopped_;
  }

  const Rows& rows_;
  const std::string_view prefix_;
  const ScanOrder order_;
  const Visit& visit_;
  Rows::const_iterator next_;  // descending: one past the next row
  bool stopped_ = false;
};

BufferingTable::BufferingTable(Table& below, std::size_t bytes_max, Readers readers)
    : below_(below),
      bytes_max_(bytes_max),
      readers_(readers),
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
  return hold_reason_;
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
    // The scan below takes its view of the table by the time its first row, or its end, is
    // reported. Until then the buffered rows may have been written to it, and newer ones after
    // them; in that case the scan starts again.
    bool first = true;
    bool written_back = false;
    const auto still_holds = [&] {
      if (std::exchange(first, false)) written_back = view().generation != seen.generation;
      return !written_back;
    };
    const auto scanned =
        below_.scan(prefix, from, order, [&](std::string_view key, std::string_view value) {
          return still_holds() && merge.visit_below(key, value);
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
    if (written.error().kind == StoreError::Kind::damaged ||
        written.error().kind == StoreError::Kind::rebuilding) {
      return written;
    }
    if (const Position below = below_.applied(); below != below_applied_) {
      // The table below lost rows in the failure, so the batch doesn't follow on the rows that are
      // left.
      discard_rows(below, written.error().message);
      return written;
    }
    return hold(batch, applied, written.error());
  }
  below_applied_ = applied;
  const std::lock_guard lock(mutex_);
  applied_ = applied;
  return {};
}

// A batch that may not fit is written to a copy, so that the rows stay as they are if it doesn't.
std::shared_ptr<BufferingTable::Rows> BufferingTable::rows_for(const TableBatch& batch) const {
  const View now = view();
  if (now.rows == nullptr) return std::make_shared<Rows>();
  if (readers_ == Readers::any_thread) return std::make_shared<Rows>(*now.rows);
  std::size_t bytes = bytes_;
  batch.for_each([&bytes](std::string_view key, std::optional<std::string_view> value) {
    bytes += bytes_of(key, value);
  });
  if (bytes > bytes_max_) return std::make_shared<Rows>(*now.rows);
  return std::const_pointer_cast<Rows>(now.rows);
}

Stored<void> BufferingTable::hold(const TableBatch& batch, Position applied,
                                  const StoreError& why) {
  const bool is_first = view().rows == nullptr;
  const std::shared_ptr<Rows> rows = rows_for(batch);
  std::size_t bytes = bytes_;
  batch.for_each([&](std::string_view key, std::optional<std::string_view> value) {
    auto [place, is_new] = rows->try_emplace(std::string(key));
    if (!is_new) bytes -= bytes_of(place->first, place->second);
    place->second = value ? std::optional<std::string>(*value) : std::nullopt;
    bytes += bytes_of(place->first, place->second);
  });
  // An empty buffer accepts its first batch whatever its size, so that the reason is recorded and
  // reopen() retries.
  if (!is_first && bytes > bytes_max_) return tl::unexpected(why);
  bytes_ = bytes;
  const std::lock_guard lock(mutex_);
  view_.rows = rows;
  hold_reason_ = why.message;
  applied_ = applied;
  return {};
}

void BufferingTable::discard_rows(Position applied, std::optional<std::string> why) {
  bytes_ = 0;
  below_applied_ = applied;
  const std::lock_guard lock(mutex_);
  view_.rows = nullptr;
  ++view_.generation;
  hold_reason_ = std::move(why);
  applied_ = applied;
}

Stored<std::unique_ptr<Table>> BufferingTable::begin_rebuild() {
  discard_rows(0, std::nullopt);
  return below_.begin_rebuild();
}

void BufferingTable::finish_rebuild(std::unique_ptr<Table> filled) {
  below_.finish_rebuild(std::move(filled));
  discard_rows(below_.applied(), std::nullopt);
}

void BufferingTable::replace(std::unique_ptr<Table> filled) {
  below_.replace(std::move(filled));
  discard_rows(below_.applied(), std::nullopt);
}

Stored<void> BufferingTable::reopen() {
  if (!held()) return {};
  const auto keep_holding = [this](const StoreError& error) {
    const std::lock_guard lock(mutex_);
    hold_reason_ = error.message;
    return tl::unexpected(error);
  };
  if (auto ok = below_.reopen(); !ok) return keep_holding(ok.error());
  if (const Position below = below_.applied(); below != below_applied_) {
    discard_rows(below, std::nullopt);
    return {};
  }
  const Position reached = applied();
  if (reached == below_applied_) {
    discard_rows(reached, std::nullopt);
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
  if (auto written = below_.write(batch, reached); !written) return keep_holding(written.error());
  discard_rows(reached, std::nullopt);
  return {};
}

}  // namespace signalbox
