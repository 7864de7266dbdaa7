// Writes a record as a CloudEvents 1.0 event, one JSON object on a line, with all bytes from which
// its leaf in the Merkle tree is computed. tools/AUDIT.md lists the attributes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/frame.h"

namespace signalbox {

// Appends the line, with its line break, of the record in `frame`, which decodes to `record` and
// has the leaf hash `leaf`; `source` is the log's name. The output is deterministic.
void append_cloud_event(const Frame& frame, const Record& record, const Digest& leaf,
                        std::string_view source, std::string& out);

// Extracts the frame of the record that a line carries, redacted or not, into `frame`. Returns
// false if the line doesn't carry a whole frame. The other attributes aren't checked.
bool carried_frame(std::string_view line, std::string& frame);

// Returns the line's `typeversion`, the version of the event in `data`; nothing if it has none.
std::optional<std::uint16_t> shown_version(std::string_view line);

}  // namespace signalbox
