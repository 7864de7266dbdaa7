// What waits for a person: a pure function of the world. The records that the items name have the
// rest of what is shown of them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "domain/world.h"
#include "projections/attention_item.h"
#include "projections/attention_selection.h"
#include "projections/run_index.h"
#include "projections/run_row.h"

namespace signalbox {

struct AttentionBounds {
  std::int64_t failed_since_ns = 0;  // runs that failed before it (UTC) wait no longer
  std::size_t failed_runs_max = 0;   // the newest wait
  // The newest failures are examined for that: most may be those of cards.
  std::size_t failures_examined_max = std::numeric_limits<std::size_t>::max();
  // Returns whether the job of a run's attempt was given to another machine. Empty: none was.
  std::function<bool(const Run&)> is_elsewhere = nullptr;
  // Returns why nobody can see how the job of a run's attempt is, although it was given to this
  // machine; "" if it can be seen. Empty: all can.
  std::function<std::string(const Run&)> job_trouble = nullptr;
};

// Offers everything in the world that waits for a person. The cost grows with the open runs,
// stopped cards, ticks and projects, not with the history or the backlog; texts are made only for
// what is selected. The world forgets failed runs (PruneRuns), and doesn't know which are of a
// card: see failed_runs().
void select_attention(const World& world, const AttentionBounds& bounds,
                      AttentionSelection& selection);

// Returns everything that select_attention() offers, in any order.
std::vector<AttentionItem> attention_of(const World& world, const AttentionBounds& bounds);

// Returns how many items of each kind attention_of() has, but for failed runs. It makes no texts of
// them, so that the engine's thread can do it often.
std::map<AttentionKind, std::uint64_t> attention_counts(const World& world,
                                                        const AttentionBounds& bounds);

// Returns whether the failure is the last of a run that wasn't retried, and that is of no card: of
// a run that works on a card or merges one, its card waits. Anyone may give a run labels. Any
// thread.
Stored<bool> is_failed_run(const RunIndex& index, const RunId& run_id, Position failed_at);

struct FailedRuns {
  std::vector<AttentionItem> items;
  bool is_capped = false;  // more wait than bounds.failed_runs_max
};

// Returns the newest runs of no card that failed since bounds.failed_since_ns, as far as the log
// has their ends, and weren't retried. Any thread.
Stored<FailedRuns> failed_runs(const RunIndex& index, const AttentionBounds& bounds);

// Adds to an item, after add_record(), what the row of its run knows.
void add_row(const RunRow& row, AttentionItem& item);

// Adds to an item what the record at its since_position knows: the time, a question, a reason.
void add_record(const Record& record, AttentionItem& item);

// Returns whether the record may add an item, take one away or change one.
bool may_change_attention(const Record& record);

}  // namespace signalbox
