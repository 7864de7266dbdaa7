// The board: all cards that aren't merged, and what is needed to find the next one without looking
// at all of them.
//
// A card is changed between extract() and put_back(), which keep what is derived from it.
// check_invariants() compares the two.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/card.h"

namespace signalbox {

// The first one is worked on first.
struct CardOrder {
  std::int32_t priority = 0;  // the highest first
  Position submitted_at = 0;
  CardId id{};

  friend bool operator<(const CardOrder& left, const CardOrder& right) {
    return std::tie(right.priority, left.submitted_at, left.id) <
           std::tie(left.priority, right.submitted_at, right.id);
  }
  friend bool operator==(const CardOrder&, const CardOrder&) = default;
};

// The backlog of one project. A lane is its cards of one key; those without a key are one, too.
struct ProjectBacklog {
  std::map<std::string, std::set<CardOrder>> lanes;
  std::set<std::pair<CardOrder, std::string>> heads;  // the first of each lane

  friend bool operator==(const ProjectBacklog&, const ProjectBacklog&) = default;
};

class Board {
 public:
  using Cards = boost::unordered_flat_map<CardId, std::unique_ptr<Card>, UuidHash>;
  using Count = std::map<std::string, std::set<CardId>, std::less<>>;

  [[nodiscard]] const Card* find(const CardId& id) const;
  // The card whose latest run this is, or whose merge it is; nullptr: it isn't any card's.
  [[nodiscard]] const Card* find_by_run(const RunId& id) const;
  [[nodiscard]] const Cards& cards() const { return cards_; }

  // The first of each project's backlog, in order.
  [[nodiscard]] const std::set<std::pair<CardOrder, std::string>>& heads() const { return heads_; }
  // nullptr: it is empty.
  [[nodiscard]] const ProjectBacklog* backlog(const std::string& project) const;
  [[nodiscard]] std::size_t backlog_size() const { return backlog_size_; }

  // Cards that have an agent: of all projects, of one, of a key.
  [[nodiscard]] const std::set<CardId>& agents() const { return agents_; }
  [[nodiscard]] const std::set<CardId>& agents_of_project(const std::string& project) const;
  [[nodiscard]] const std::set<CardId>& agents_of_key(const std::string& key) const;

  // Blocked cards that go on by themselves, by when.
  [[nodiscard]] const std::set<std::pair<std::int64_t, CardId>>& retries() const {
    return retries_;
  }
  // Verified cards by project, in the order in which they are merged.
  using Verified = std::map<std::string, std::set<std::pair<Position, CardId>>, std::less<>>;
  [[nodiscard]] const Verified& verified() const { return verified_; }
  // The card of a project that is being merged, or nullptr.
  [[nodiscard]] const Card* merging(const std::string& project) const;

  // Whether what is derived from the cards is the same.
  [[nodiscard]] bool same_order(const Board& other) const;

  void insert(Card card);
  // Gives the card for a change. It is there.
  Card& extract(const CardId& id);
  void put_back(const Card& card);
  // A card that was taken out.
  void erase(const CardId& id);

 private:
  void index(const Card& card, bool present);
  void index_backlog(const Card& card, bool present);

  Cards cards_;
  boost::unordered_flat_map<RunId, CardId, UuidHash> by_run_;
  std::map<std::string, ProjectBacklog, std::less<>> backlogs_;
  std::set<std::pair<CardOrder, std::string>> heads_;
  std::size_t backlog_size_ = 0;
  std::set<CardId> agents_;
  Count agents_by_project_;
  Count agents_by_key_;
  std::set<std::pair<std::int64_t, CardId>> retries_;
  Verified verified_;
  std::map<std::string, CardId, std::less<>> merging_;
};

}  // namespace signalbox
