// What waits for a person: a pure function of the world. The records that the items name have the
// rest of what is shown of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

#include "domain/world.h"
#include "projections/run_index.h"
#include "projections/run_row.h"

namespace signalbox {

enum class AttentionKind : std::uint8_t {
  service,   // a condition of the service itself, such as a full disk
  approval,  // a run waits for a decision
  budget,    // a run has used up its budget
  paused_run,
  failed_run,    // of no card
  lost_job,      // nobody can see how the job of a run's attempt ended: it was another machine's
  blocked_card,  // and nothing retries it; or its merge was deferred often
  failed_card,
  halted_loop,     // its tick has no end
  refused_policy,  // the project's policy file is invalid: the one before it is in force
  held_project,    // nothing of the project is started or merged
};
BOOST_DESCRIBE_ENUM(AttentionKind, service, approval, budget, paused_run, failed_run, lost_job,
                    blocked_card, failed_card, halted_loop, refused_policy, held_project)

struct AttentionItem {
  AttentionKind kind = AttentionKind::service;
  // Position of the event since which it waits, or the nearest later one that the world knows; 0:
  // none.
  Position since_position = 0;
  std::int64_t since_ns = 0;  // UTC; 0: not known yet
  bool is_later = false;      // since_position may be of a later event, and move on
  RunId run_id{};             // nil: of no run
  CardId card_id{};           // nil: of no card
  std::string condition;      // of the service: its name, the same for as long as it lasts
  std::string project;
  std::string loop;
  std::string station;
  Position asked = 0;                      // of the question, for an approval; 0: unknown
  std::string subject;                     // a run's goal or a card's title
  std::string text;                        // one sentence without a full stop
  std::vector<std::string> next_commands;  // complete: each would be taken now
};

struct AttentionBounds {
  std::int64_t failed_since_ns = 0;  // runs that failed before it (UTC) wait no longer
  std::size_t failed_runs_max = 0;   // the newest are examined
  // Returns whether the job of a run's attempt was given to another machine. Empty: none was.
  std::function<bool(const Run&)> is_elsewhere = nullptr;
};

// Returns everything in the world that waits for a person, in any order. The cost grows with the
// open runs, stopped cards, ticks and projects, not with the history or the backlog. The world
// forgets failed runs (PruneRuns), and doesn't know which are of a card: see failed_runs().
std::vector<AttentionItem> attention_of(const World& world, const AttentionBounds& bounds);

// Returns how many items of each kind attention_of() has without bounds: no failed runs, no lost
// jobs. It makes no texts, so that the engine's thread can do it often.
std::map<AttentionKind, std::uint64_t> attention_counts(const World& world);

// Returns the runs of no card that failed since bounds.failed_since_ns and weren't retried. Any
// thread.
Stored<std::vector<AttentionItem>> failed_runs(const RunIndex& index,
                                               const AttentionBounds& bounds);

// Returns the name of an item: it is the same for as long as the item waits, whatever else of it
// changes, and no other item has it.
std::string name_of(const AttentionItem& item);

// Sorts items by how long they have waited, the longest first, then by name. Those of which that
// isn't known come first.
void sort_by_wait(std::vector<AttentionItem>& items);

// Adds to an item what the row of its run knows.
void add_row(const RunRow& row, AttentionItem& item);

// Adds to an item what the record at its since_position knows: the time, a question, a reason.
void add_record(const Record& record, AttentionItem& item);

// Returns whether the record may add an item, take one away or change one.
bool may_change_attention(const Record& record);

}  // namespace signalbox
