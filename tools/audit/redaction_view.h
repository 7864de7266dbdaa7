// What `audit redact` has done, for people.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Of the log.
std::string view_redaction(const boost::json::object& result, const Terminal& terminal);
// Of an archive (--archive).
std::string view_archive_redaction(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
