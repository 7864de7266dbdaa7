// The settings of the trace exporter: the table [traces] of the configuration file, as texts and
// as checked values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "server/followers/traces/trace_limits.h"

namespace signalbox {

// The values as written in the configuration file, except that paths are absolute.
struct TraceTexts {
  std::string endpoint;               // empty: no traces are sent
  std::string headers_file;           // or empty
  std::string certificate_authority;  // a PEM file to trust instead of the system's, or empty
  std::string service_name = "signalbox";
  std::string backfill = "24h";
};

struct TraceSettings {
  std::string endpoint;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string certificate_authority;
  std::string service_name;
  std::int64_t backfill_ms = 0;  // how far back to begin if there is no cursor
  // Fields because tests set shorter times.
  std::int64_t request_ms = limits::trace_request_ms_max;
  std::int64_t backoff_ms = limits::trace_backoff_ms_min;
};

// Returns the text of the key, or nullptr if there is no such key. Sets `is_path` if a relative
// value is to be resolved against the directory of the configuration file.
std::string* trace_text(TraceTexts& texts, std::string_view key, bool& is_path);

// Checks the texts and returns the settings. Reads the headers ("Name: value" lines) from a file
// that no other user may read, and checks that the certificate authority's file has a certificate.
// The error is a sentence that names the key and says what to write instead. Blocks.
tl::expected<TraceSettings, std::string> read_trace_settings(const TraceTexts& texts);

}  // namespace signalbox
