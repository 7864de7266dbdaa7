// Reads a pipeline's file, TOML or JSON, for the methods that take its tables.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// Returns the tables of the file. They are validated here, too, so that an error names the file.
Called<boost::json::value> pipeline_tables(const std::string& file);

}  // namespace signalbox
