// HEARTBEAT.md, the file in a repository by which its people say how its cards are worked on.
//
//   ## Constraints                       sections: Constraints, Builder, Synthesizer, Notifications
//   - maxConcurrentAgents: 2             a number
//   - [x] Max concurrent agents: 2       the same: of a key, only the letters count
//   ## Builder
//   - [x] processBacklog                 a toggle that is on
//   - Retry blocked: no                  one that is off; also false, off, and "- [ ] retryBlocked"
//
// A key may stand in each of the four sections; a number with an empty box isn't set. What isn't
// said is as in Policy{}. All else is free text and ignored: other sections, paragraphs, nested
// lists, items without box and colon, code, comments. But an item of a known section that has a box
// or a colon is meant to be a key, and is an error if it isn't one.
#pragma once

#include <string_view>

#include <tl/expected.hpp>

#include "domain/policy.h"
#include "server/board/markdown_items.h"

namespace signalbox {

// Of any bytes; more than policy_file_bytes_max (policy_keys.h) are an error. The first error.
tl::expected<Policy, LineError> parse_policy_file(std::string_view text);

}  // namespace signalbox
