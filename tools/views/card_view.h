// Cards and projects as text.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// A result of card.get, card.list, project.get, project.list.
std::string view_card(const boost::json::object& result, const Terminal& terminal,
                      std::int64_t now_ns);
std::string view_card_list(const boost::json::object& result, const Terminal& terminal,
                           std::int64_t now_ns);
std::string view_project(const boost::json::object& result, const Terminal& terminal,
                         std::int64_t now_ns);
std::string view_project_list(const boost::json::object& result, const Terminal& terminal);

// What of a card's state is worth a few words: why it waits, when it goes on, what went wrong.
std::string card_detail(const boost::json::object& card, std::int64_t now_ns);

}  // namespace signalbox
