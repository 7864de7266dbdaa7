// An item that waits for a person, and the name and order by which items are listed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

#include "domain/ids.h"
#include "domain/world.h"

namespace signalbox {

enum class AttentionKind : std::uint8_t {
  service,   // a condition of the service itself, such as a full disk
  approval,  // a run waits for a decision
  budget,    // a run has used up its budget
  paused_run,
  failed_run,    // of no card
  lost_job,      // nobody can see how the job of a run's attempt is: it was another machine's, or
                 // its executor fails
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
  Token token = 0;  // of a halted loop's tick; 0: only its marker is known
  std::string station;
  Position asked = 0;                      // of the question, for an approval; 0: unknown
  std::string subject;                     // a run's goal or a card's title
  std::string text;                        // one sentence without a full stop
  std::vector<std::string> next_commands;  // complete: each would be taken now
};

// Returns the name of an item: it is the same for as long as the item waits, whatever else of it
// changes, and no other item has it.
std::string name_of(const AttentionItem& item);

// Returns the item of a paused service, which waits until somebody resumes it.
AttentionItem item_of(const ServicePause& pause);

// Sorts items by how long they have waited, the longest first, then by name. Those of which that
// isn't known come first.
void sort_by_wait(std::vector<AttentionItem>& items);

}  // namespace signalbox
