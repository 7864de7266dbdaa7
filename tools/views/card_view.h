// Formats cards and projects for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"
#include "tools/cli/text_table.h"

namespace signalbox {

// Format the results of card.get, card.list, project.get and project.list.
std::string view_card(const boost::json::object& result, const Terminal& terminal,
                      std::int64_t now_ns);
std::string view_card_list(const boost::json::object& result, const Terminal& terminal,
                           std::int64_t now_ns);
std::string view_project(const boost::json::object& result, const Terminal& terminal,
                         std::int64_t now_ns);
std::string view_project_list(const boost::json::object& result, const Terminal& terminal);

// Returns a short description of a card's state: why it waits, when it continues, what failed.
std::string card_detail(const boost::json::object& card, std::int64_t now_ns);

// Returns the names in `checks_changed` of a card or of what waits, as "AGENTS.md, check.sh"; empty
// if the work leaves what checks it alone. `shown` is printable.
std::string changed_checks_text(const boost::json::object& shown);

// Adds what has to be known of the work of a run or a card before anybody decides about it: the
// changed checks, and what its commits leave out.
void add_finding_values(const boost::json::object& shown,
                        std::vector<std::pair<std::string, Cell>>& values);

}  // namespace signalbox
