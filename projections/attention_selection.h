// The first of the items that wait, chosen while all of them are gone through: those that aren't
// chosen are counted, and never made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "projections/attention_item.h"

namespace signalbox {

// The last item of a page, whether it still waits or not.
struct AttentionCursor {
  Position position = 0;  // since which it waits
  std::string name;
};

// Returns whether the item is listed after the cursor's.
bool is_after(const AttentionItem& item, const AttentionCursor& cursor);

class AttentionSelection {
 public:
  // Selects all items.
  AttentionSelection() = default;
  // Selects the first `limit` items after `cursor`, of `kinds` (empty: of all).
  AttentionSelection(std::vector<AttentionKind> kinds, std::size_t limit,
                     std::optional<AttentionCursor> cursor)
      : kinds_(std::move(kinds)), limit_(limit), cursor_(std::move(cursor)) {}

  // Returns whether items of the kind are selected at all.
  [[nodiscard]] bool has(AttentionKind kind) const;
  // Counts an item and returns whether it may be selected; add() is called then. `is_later` is that
  // of the item.
  bool wants(AttentionKind kind, Position since_position, bool is_later = false);
  void add(AttentionItem item);

  // Returns how many items of each kind were counted, on whatever page they are.
  [[nodiscard]] const std::map<AttentionKind, std::uint64_t>& counts() const { return counts_; }
  // Takes the selected items, in any order. The failed runs, which the read models know better, are
  // selected apart, as if there were no others; a paused run whose position may be earlier than is
  // known is always selected. So the first items after the cursor are there, whatever is found out
  // about either.
  [[nodiscard]] std::vector<AttentionItem> take();

 private:
  [[nodiscard]] std::vector<AttentionItem>& first(AttentionKind kind);

  std::vector<AttentionKind> kinds_;
  std::size_t limit_ = std::numeric_limits<std::size_t>::max();
  std::optional<AttentionCursor> cursor_;
  std::map<AttentionKind, std::uint64_t> counts_;
  // Heaps of at most limit_ items; that which waits the shortest is at the front.
  std::vector<AttentionItem> first_failed_;
  std::vector<AttentionItem> first_others_;
  std::vector<AttentionItem> moving_;
};

}  // namespace signalbox
