// JSON Schema (draft 7) of described structs: what described_json.h reads and writes.
#pragma once

#include <boost/json/object.hpp>

#include "server/text/described_json.h"

namespace signalbox {

enum class JsonUse {
  read,     // what a caller may send
  written,  // what a reader gets
};

// Returns the schema of a value of this type.
boost::json::object schema_of(const described_json::Type& type, JsonUse use);

// Returns the schema of a field's value, which may be a time.
boost::json::object schema_of(const described_json::Field& field, JsonUse use);

}  // namespace signalbox
