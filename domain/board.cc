#include "domain/board.h"

#include "domain/check.h"

namespace signalbox {
namespace {

const std::set<CardId> no_cards;

CardOrder order_of(const Card& card) { return {card.priority, card.submitted_at, card.id}; }

// Erases an entry whose last member was removed, so that the index is bounded by what is on the
// board.
template <class Map, class Key, class Member>
void set_member(Map& map, const Key& key, const Member& member, bool present) {
  if (present) {
    map[key].insert(member);
    return;
  }
  const auto place = map.find(key);
  SIGNALBOX_CHECK(place != map.end());
  place->second.erase(member);
  if (place->second.empty()) map.erase(place);
}

template <class Set, class Member>
void set_member(Set& set, const Member& member, bool present) {
  if (present) {
    set.insert(member);
  } else {
    set.erase(member);
  }
}

template <class Map>
const std::set<CardId>& members(const Map& map, const std::string& key) {
  const auto place = map.find(key);
  return place == map.end() ? no_cards : place->second;
}

}  // namespace

const Card* Board::find(const CardId& id) const {
  const auto place = cards_.find(id);
  return place == cards_.end() ? nullptr : place->second.get();
}

const Card* Board::find_by_run(const RunId& id) const {
  const auto place = by_run_.find(id);
  return place == by_run_.end() ? nullptr : find(place->second);
}

const ProjectBacklog* Board::backlog(const std::string& project) const {
  const auto place = backlogs_.find(project);
  return place == backlogs_.end() ? nullptr : &place->second;
}

const std::set<CardId>& Board::agents_of_project(const std::string& project) const {
  return members(agents_by_project_, project);
}
const std::set<CardId>& Board::agents_of_key(const std::string& key) const {
  return members(agents_by_key_, key);
}

const Card* Board::merging(const std::string& project) const {
  const auto place = merging_.find(project);
  return place == merging_.end() ? nullptr : find(place->second);
}

bool Board::same_order(const Board& other) const {
  return by_run_ == other.by_run_ && backlogs_ == other.backlogs_ && heads_ == other.heads_ &&
         agents_ == other.agents_ && agents_by_project_ == other.agents_by_project_ &&
         agents_by_key_ == other.agents_by_key_ && retries_ == other.retries_ &&
         stopped_ == other.stopped_ && verified_ == other.verified_ && merging_ == other.merging_;
}

void Board::insert(Card card) {
  const CardId id = card.id;
  const auto [place, inserted] = cards_.emplace(id, std::make_unique<Card>(std::move(card)));
  SIGNALBOX_CHECK(inserted);
  index(*place->second, true);
}

Card& Board::extract(const CardId& id) {
  const auto place = cards_.find(id);
  SIGNALBOX_CHECK(place != cards_.end());
  index(*place->second, false);
  return *place->second;
}

void Board::put_back(const Card& card) { index(card, true); }

void Board::erase(const CardId& id) { cards_.erase(id); }

void Board::index(const Card& card, bool present) {
  for (const RunId& run : {card.run_id, card.merge_run_id}) {
    if (run == RunId{}) continue;
    if (present) {
      by_run_.insert_or_assign(run, card.id);
    } else {
      by_run_.erase(run);
    }
  }
  if (card.is_merging()) {
    if (present) {
      merging_.insert_or_assign(card.project, card.id);
    } else {
      merging_.erase(card.project);
    }
  }
  switch (card.status) {
    case CardStatus::backlog:
      return index_backlog(card, present);
    case CardStatus::running:
    case CardStatus::verifying:
      set_member(agents_, card.id, present);
      set_member(agents_by_project_, card.project, card.id, present);
      if (!card.key.empty()) set_member(agents_by_key_, card.key, card.id, present);
      return;
    case CardStatus::verified:
      return set_member(verified_, card.project, std::pair(card.verified_at, card.id), present);
    case CardStatus::blocked:
      if (card.retry_at_ns != 0) {
        set_member(retries_, std::pair(card.retry_at_ns, card.id), present);
      }
      return set_member(stopped_, std::pair(card.changed_at, card.id), present);
    case CardStatus::failed:
      return set_member(stopped_, std::pair(card.changed_at, card.id), present);
    case CardStatus::merged:
      return;
  }
}

// The first card of a lane represents it in the project's heads, and the first of those represents
// the project in heads_.
void Board::index_backlog(const Card& card, bool present) {
  ProjectBacklog& backlog = backlogs_[card.project];
  std::set<CardOrder>& lane = backlog.lanes[card.key];
  if (!backlog.heads.empty()) heads_.erase({backlog.heads.begin()->first, card.project});
  if (!lane.empty()) backlog.heads.erase({*lane.begin(), card.key});
  set_member(lane, order_of(card), present);
  if (lane.empty()) {
    backlog.lanes.erase(card.key);
  } else {
    backlog.heads.insert({*lane.begin(), card.key});
  }
  if (backlog.heads.empty()) {
    backlogs_.erase(card.project);
  } else {
    heads_.insert({backlog.heads.begin()->first, card.project});
  }
}

}  // namespace signalbox
