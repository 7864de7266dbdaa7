// What waits for a person: the stream says whenever that changes, and failed runs wait although the
// world forgets them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "projections/attention.h"
#include "projections/memory_table.h"
#include "tests/domain/random_history.h"

namespace signalbox {
namespace {

using ItemNames = std::set<std::string>;

// Jobs with an even token are those of another machine.
ItemNames names_of_items(const World& world) {
  AttentionBounds bounds;
  bounds.failed_runs_max = 1000;
  bounds.is_elsewhere = [](const Run& run) { return run.attempt->token % 2 == 0; };
  ItemNames names;
  for (const AttentionItem& item : attention_of(world, bounds)) names.insert(name_of(item));
  return names;
}

ItemNames without(const ItemNames& names, const ItemNames& others) {
  ItemNames left;
  std::set_difference(names.begin(), names.end(), others.begin(), others.end(),
                      std::inserter(left, left.end()));
  // Whose a job is shows at a start of the service, and not when the job is submitted.
  std::erase_if(left, [&](const std::string& name) { return name.starts_with("lost_job/"); });
  return left;
}

RC_GTEST_PROP(AttentionTest, TheStreamSaysWhateverBeginsToWait, ()) {  // O1
  RandomHistory history;
  ItemNames before;
  for (const Step& step : *random_steps()) {
    const auto known = static_cast<std::ptrdiff_t>(history.records.size());
    if (!history.take(step)) continue;
    ItemNames present = names_of_items(history.world);
    const bool is_said =
        std::any_of(history.records.begin() + known, history.records.end(), may_change_attention);
    RC_ASSERT(is_said || without(present, before).empty());
    before = std::move(present);
  }
}

RC_GTEST_PROP(AttentionTest, TheStreamSaysWhateverIsSettled, ()) {  // O1
  RandomHistory history;
  ItemNames before;
  for (const Step& step : *random_steps()) {
    const auto known = static_cast<std::ptrdiff_t>(history.records.size());
    if (!history.take(step)) continue;
    ItemNames present = names_of_items(history.world);
    const bool is_said =
        std::any_of(history.records.begin() + known, history.records.end(), may_change_attention);
    const bool is_settled =
        !std::includes(present.begin(), present.end(), before.begin(), before.end());
    RC_ASSERT(is_said || !is_settled);
    before = std::move(present);
  }
}

// A page is chosen without making the items of all pages.
RC_GTEST_PROP(AttentionTest, ASelectionHasTheFirstItemsAfterItsCursor, ()) {  // O1
  RandomHistory history;
  for (const Step& step : *random_steps()) history.take(step);
  AttentionBounds bounds;
  bounds.failed_runs_max = 1000;
  bounds.is_elsewhere = [](const Run& run) { return run.attempt->token % 2 == 0; };
  std::vector<AttentionItem> all = attention_of(history.world, bounds);
  sort_by_wait(all);
  std::vector<AttentionKind> kinds;
  std::optional<AttentionCursor> cursor;
  if (!all.empty()) {
    const auto any = [&all] { return all.at(*rc::gen::inRange<std::size_t>(0, all.size())); };
    if (*rc::gen::arbitrary<bool>()) kinds = {any().kind, any().kind};
    if (*rc::gen::arbitrary<bool>()) {
      const AttentionItem last = any();
      cursor = AttentionCursor{last.since_position, name_of(last)};
    }
  }
  const auto limit = *rc::gen::inRange<std::size_t>(1, 5);
  AttentionSelection selection(kinds, limit, cursor);
  select_attention(history.world, bounds, selection);
  const auto counts = selection.counts();
  std::vector<AttentionItem> selected = selection.take();
  sort_by_wait(selected);

  const auto first_names = [&](const std::vector<AttentionItem>& items) {
    std::vector<std::string> names;
    for (const AttentionItem& item : items) {
      if (!selection.has(item.kind) || (cursor && !is_after(item, *cursor))) continue;
      if (names.size() < limit) names.push_back(name_of(item));
    }
    return names;
  };
  RC_ASSERT(first_names(selected) == first_names(all));
  std::map<AttentionKind, std::uint64_t> expected;
  for (const AttentionItem& item : all) {
    if (selection.has(item.kind)) ++expected[item.kind];
  }
  RC_ASSERT(counts == expected);
  const auto moves = [](const AttentionItem& item) {
    return item.kind == AttentionKind::paused_run && item.is_later;
  };
  const auto moving = std::count_if(selected.begin(), selected.end(), moves);
  RC_ASSERT(selected.size() <= 2 * limit + static_cast<std::size_t>(moving));
}

// The read models know them all, be they in the world or not.
RC_GTEST_PROP(AttentionTest, FailedRunsAreThoseThatFailedLast, ()) {  // O1
  RandomHistory history;
  for (const Step& step : *random_steps()) history.take(step);
  MemoryTable table;
  RunIndex index(table);
  RC_ASSERT(index.apply(history.records).has_value());
  std::map<RunId, Position> failed;
  for (const Record& record : history.records) {
    if (event_as<RunFailed>(record.event) != nullptr) {
      failed[record.stream.run_id] = record.position;
    } else if (event_as<RunRetried>(record.event) != nullptr) {
      failed.erase(record.stream.run_id);
    }
  }
  std::map<RunId, Position> found;
  AttentionBounds bounds;
  bounds.failed_runs_max = 1000;
  const auto items = failed_runs(index, bounds);
  RC_ASSERT(items.has_value());
  for (const AttentionItem& item : items->items) found[item.run_id] = item.since_position;
  RC_ASSERT(found == failed);
  RC_ASSERT(!items->is_capped);
  for (bounds.failed_runs_max = 1; bounds.failed_runs_max <= failed.size();
       ++bounds.failed_runs_max) {
    const auto newest = failed_runs(index, bounds);
    RC_ASSERT(newest.has_value());
    RC_ASSERT(newest->items.size() == bounds.failed_runs_max);
    RC_ASSERT(newest->is_capped == (bounds.failed_runs_max < failed.size()));
  }
}

}  // namespace
}  // namespace signalbox
