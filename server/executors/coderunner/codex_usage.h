// Reads what a thread of codex has used from codex's own figures: those that it prints, and those
// that it writes into its rollout file, the thread's history. That file has a total after each
// answer of the model, while a process prints one only at the end of a turn.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "server/executors/coderunner/agent_report.h"

namespace signalbox {

// Returns the counts of an object {input_tokens, cached_input_tokens, cache_write_input_tokens,
// output_tokens}, of which cached tokens are part of the input. The cost is 0: codex names none.
TokenCounts codex_counts(const boost::json::object& usage);

// Returns the total of the thread, its earlier turns included, that a line of its rollout file has.
// Nothing if it has none, is of another thread, or isn't JSON. The line may be any bytes.
std::optional<TokenCounts> total_in_rollout_line(std::string_view line, const std::string& thread);

}  // namespace signalbox
