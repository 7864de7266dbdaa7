// Ids as people read and type them: the end of an id instead of all of it. Ids begin with the time,
// so that only their ends differ visibly.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// The digits of an id that are shown where its end is enough; more if two ids end alike.
inline constexpr std::size_t id_tail_columns = 8;

// Returns whether a text stands for an id without being one: `last`, or at least four hexadecimal
// digits of an id's end, also with the "…" before them that some views show.
bool is_short_id(std::string_view text);

// Calls a method of a server, or of the past; see call_unchanged().
using MethodCall =
    std::function<Called<boost::json::object>(std::string_view method, boost::json::object params)>;

// Replaces a short "run_id" or "card_id", or that of a run as "span_id", in `params` by the whole
// id, which it asks `call` for (run.find, card.find). Fails with what these methods refuse, such as
// AMBIGUOUS_ID.
Called<void> complete_ids(boost::json::object& params, const MethodCall& call);

// Returns the end of each id: id_tail_columns characters, or as many as it takes for different ids
// to have different ends. A text that isn't an id stays as it is.
std::vector<std::string> unique_tails(const std::vector<std::string>& ids);

}  // namespace signalbox
