// The settings of the way to a collector: the table [traces] of the configuration file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "server/limits.h"

namespace signalbox {

// As they were written; paths are absolute.
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
  std::int64_t backfill_ms = 0;  // how far back to begin where nothing was sent before
  // Tests have less patience.
  std::int64_t request_ms = limits::trace_request_ms_max;
  std::int64_t backoff_ms = limits::trace_backoff_ms_min;
};

// The text of a key, or nullptr: there is no such key. `is_path`: it is relative to the file that
// names it.
std::string* trace_text(TraceTexts& texts, std::string_view key, bool& is_path);

// Reads the headers, too: "Name: value" lines of a file that nobody else may read; and looks
// whether the certificate authority is one. A sentence that names the key and says what to write
// instead.
tl::expected<TraceSettings, std::string> read_trace_settings(const TraceTexts& texts);

}  // namespace signalbox
