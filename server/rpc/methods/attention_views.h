// What waits for a person as JSON, for the answers that show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/run_roots.h"
#include "projections/attention.h"
#include "projections/run_index.h"
#include "server/rpc/api.h"
#include "server/rpc/methods/families.h"

namespace signalbox {

// Parses the `next_cursor` of a page. INVALID_PARAMS.
Decided<AttentionCursor> read_attention_cursor(const std::string& text);

struct AttentionQuestion {
  std::vector<AttentionKind> kinds;  // empty: all
  std::size_t limit = 0;
  std::optional<AttentionCursor> cursor = std::nullopt;  // the page begins after it
  // The first approvals whose work is looked into: that reads all records of the run.
  std::size_t proposals_max = 0;
};

// What the engine's thread knows of what waits: all that may be on the page of a question.
struct AttentionMoment {
  AttentionBounds bounds;
  std::vector<AttentionItem> items;               // in the world and of the service, in any order
  std::map<AttentionKind, std::uint64_t> counts;  // of the question's kinds, also of other pages
  bool is_capped = false;                         // more failed runs wait than are counted
  RunRoots open_roots;                            // a failed run that has one of them isn't retried
};

// Returns what waits now, without the details that the read models and the log have. Called on the
// engine's thread.
AttentionMoment attention_moment(const Api& api, const ServiceSources& sources,
                                 const AttentionQuestion& question);

// Returns a page as `attention.list` answers it. `moment` was made for this question. `index`,
// which must be as of the moment, is nullptr while the read models can't be asked. What can't be
// read isn't shown: the rest is. Any thread.
boost::json::object attention_page(const Api& api, const RunIndex* index,
                                   const AttentionMoment& moment,
                                   const AttentionQuestion& question);

}  // namespace signalbox
