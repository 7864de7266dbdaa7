// A pipeline's file, as TOML or JSON, read for a method that takes its tables.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// The tables of the file; checked here too, so that a mistake names the file.
Called<boost::json::value> pipeline_tables(const std::string& file);

}  // namespace signalbox
