// Parses HEARTBEAT.md, the file in a repository that holds the policy for its cards.
//
//   ## Constraints                       sections: Constraints, Builder, Synthesizer, Notifications
//   - maxConcurrentAgents: 2             a number
//   - [x] Max concurrent agents: 2       the same: only the letters of a key count
//   ## Builder
//   - [x] processBacklog                 a toggle that is on
//   - Retry blocked: no                  one that is off; also false, off, and "- [ ] retryBlocked"
//   - checksChanged: approve             a word: approve, allow or refuse
//
// A key may be in any of the four sections; a number or a word with an empty box isn't set. Keys
// that are missing have their value in Policy{}. All else is free text and ignored: other sections,
// paragraphs, nested lists, items without box and colon, code, comments. But an item of a known
// section that has a box or a colon must be a known key; else it is an error. Only in
// Notifications, where nothing says what may be started or merged, an unknown key is ignored with a
// warning: the file may be written for a board that notifies in other ways ("- [ ]
// telegramSpawned"). In other sections keys don't count, and there is a warning of one that sets
// what isn't in force; a permission (processBacklog, retryBlocked, mergeVerified) that is off only
// there is an error, since what it forbids would happen. So it is with a line that reads as a
// setting and is no item of a list, or an item without a colon ("max_attempts = 3").
#pragma once

#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "domain/policy.h"
#include "server/board/markdown_items.h"

namespace signalbox {

// Parses `text`, which may be any bytes. Returns the first error; a text of more than
// policy_file_bytes_max (policy_keys.h) bytes is one.
// Lines that are ignored, though they look like settings, are appended to `warnings`, if given; not
// more than policy_warnings_max (policy_keys.h) altogether.
tl::expected<Policy, LineError> parse_policy_file(std::string_view text,
                                                  std::vector<LineError>* warnings = nullptr);

}  // namespace signalbox
