// The board: all cards that aren't merged, with the indexes that find the next card without a scan.
//
// A card is changed only between extract() and put_back(), which keep the indexes up to date.
// check_invariants() compares the indexes with the cards.
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

// The order in which cards are worked on, as a sort key: a lesser key comes first.
struct CardOrder {
  std::int32_t priority = 0;  // a higher one comes first
  Position submitted_at = 0;
  CardId id{};

  friend bool operator<(const CardOrder& left, const CardOrder& right) {
    return std::tie(right.priority, left.submitted_at, left.id) <
           std::tie(left.priority, right.submitted_at, right.id);
  }
  friend bool operator==(const CardOrder&, const CardOrder&) = default;
};

// The backlog of one project. A lane holds the cards of one key; the cards without a key form one
// lane, too.
struct ProjectBacklog {
  std::map<std::string, std::set<CardOrder>> lanes;   // by key
  std::set<std::pair<CardOrder, std::string>> heads;  // the first card of each lane, with its key

  friend bool operator==(const ProjectBacklog&, const ProjectBacklog&) = default;
};

class Board {
 public:
  using Cards = boost::unordered_flat_map<CardId, std::unique_ptr<Card>, UuidHash>;
  using Count = std::map<std::string, std::set<CardId>, std::less<>>;

  // Returns the card, or nullptr.
  [[nodiscard]] const Card* find(const CardId& id) const;
  // Returns the card of which this is the latest run or the current merge, or nullptr.
  [[nodiscard]] const Card* find_by_run(const RunId& id) const;
  [[nodiscard]] const Cards& cards() const { return cards_; }

  // Returns the first card of each project's backlog with the project's name, in order.
  [[nodiscard]] const std::set<std::pair<CardOrder, std::string>>& heads() const { return heads_; }
  // Returns the project's backlog, or nullptr if it is empty.
  [[nodiscard]] const ProjectBacklog* backlog(const std::string& project) const;

  // Return the cards that have an agent: of all projects, of one project, of one key.
  [[nodiscard]] const std::set<CardId>& agents() const { return agents_; }
  [[nodiscard]] const std::set<CardId>& agents_of_project(const std::string& project) const;
  [[nodiscard]] const std::set<CardId>& agents_of_key(const std::string& key) const;

  // Returns the blocked cards that are retried automatically, by the time (ns, UTC) of the retry.
  [[nodiscard]] const std::set<std::pair<std::int64_t, CardId>>& retries() const {
    return retries_;
  }
  // Returns the blocked and failed cards, each with the position of its latest event, oldest first.
  [[nodiscard]] const std::set<std::pair<Position, CardId>>& stopped() const { return stopped_; }
  // The verified cards by project, each with the position at which it was verified.
  using Verified = std::map<std::string, std::set<std::pair<Position, CardId>>, std::less<>>;
  // Returns the verified cards by project, in the order in which they are merged.
  [[nodiscard]] const Verified& verified() const { return verified_; }
  // Returns the project's card that is being merged, or nullptr.
  [[nodiscard]] const Card* merging(const std::string& project) const;

  // Returns whether both boards have the same indexes. Doesn't compare the cards.
  [[nodiscard]] bool same_order(const Board& other) const;

  // Adds a card and indexes it. No card has its id.
  void insert(Card card);
  // Removes a card from the indexes and returns it for a change. The card is on the board, and
  // put_back() or erase() follows.
  Card& extract(const CardId& id);
  // Indexes an extracted card again.
  void put_back(const Card& card);
  // Removes an extracted card from the board.
  void erase(const CardId& id);

 private:
  // Add the card to the indexes (`present`) or remove it from them.
  void index(const Card& card, bool present);
  void index_backlog(const Card& card, bool present);

  Cards cards_;
  boost::unordered_flat_map<RunId, CardId, UuidHash> by_run_;
  std::map<std::string, ProjectBacklog, std::less<>> backlogs_;
  std::set<std::pair<CardOrder, std::string>> heads_;
  std::set<CardId> agents_;
  Count agents_by_project_;
  Count agents_by_key_;
  std::set<std::pair<std::int64_t, CardId>> retries_;
  std::set<std::pair<Position, CardId>> stopped_;
  Verified verified_;
  std::map<std::string, CardId, std::less<>> merging_;
};

}  // namespace signalbox
