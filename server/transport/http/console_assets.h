// The console's files, compiled in from server/console/ (server/console/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace signalbox {

struct ConsoleAsset {
  std::string_view name;  // below server/console/: "pages/runs.js"
  std::string_view media_type;
  std::string_view sha256;  // of the content, in hexadecimal
  std::string_view content;
  std::string_view gzip;  // the content, compressed
};

// Returns all files but the page itself, by name.
std::span<const ConsoleAsset> console_assets();

// Returns the page. It names console_digest() in the addresses of its files.
const ConsoleAsset& console_index();

// Returns the digest of all files together, a part of their addresses.
std::string_view console_digest();

}  // namespace signalbox
