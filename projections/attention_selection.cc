#include "projections/attention_selection.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace signalbox {
namespace {

// The order of sort_by_wait(). Names are made only for items of the same position, which are few.
bool waits_longer(const AttentionItem& left, const AttentionItem& right) {
  if (left.since_position != right.since_position) {
    return left.since_position < right.since_position;
  }
  return name_of(left) < name_of(right);
}

// Returns whether the time since when the item waits may turn out to be an earlier one.
bool may_be_earlier(AttentionKind kind, bool is_later) {
  return kind == AttentionKind::paused_run && is_later;
}

}  // namespace

bool is_after(const AttentionItem& item, const AttentionCursor& cursor) {
  if (item.since_position != cursor.position) return item.since_position > cursor.position;
  return name_of(item) > cursor.name;
}

bool AttentionSelection::has(AttentionKind kind) const {
  return kinds_.empty() || std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
}

std::vector<AttentionItem>& AttentionSelection::first(AttentionKind kind) {
  return kind == AttentionKind::failed_run ? first_failed_ : first_others_;
}

bool AttentionSelection::wants(AttentionKind kind, Position since_position, bool is_later) {
  if (!has(kind)) return false;
  ++counts_[kind];
  if (may_be_earlier(kind, is_later)) return true;
  if (cursor_ && since_position < cursor_->position) return false;
  const std::vector<AttentionItem>& selected = first(kind);
  if (selected.size() < limit_) return true;
  return !selected.empty() && since_position <= selected.front().since_position;
}

void AttentionSelection::add(AttentionItem item) {
  if (may_be_earlier(item.kind, item.is_later)) {
    moving_.push_back(std::move(item));
    return;
  }
  if (cursor_ && !is_after(item, *cursor_)) return;
  std::vector<AttentionItem>& selected = first(item.kind);
  if (selected.size() == limit_) {
    if (!waits_longer(item, selected.front())) return;
    std::pop_heap(selected.begin(), selected.end(), waits_longer);
    selected.pop_back();
  }
  selected.push_back(std::move(item));
  std::push_heap(selected.begin(), selected.end(), waits_longer);
}

std::vector<AttentionItem> AttentionSelection::take() {
  std::vector<AttentionItem> items = std::move(first_others_);
  for (std::vector<AttentionItem>* more : {&first_failed_, &moving_}) {
    std::move(more->begin(), more->end(), std::back_inserter(items));
    more->clear();
  }
  return items;
}

}  // namespace signalbox
