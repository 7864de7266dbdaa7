// A record as a CloudEvents 1.0 event, one JSON object on a line, with all that its leaf in the
// Merkle tree is made of. tools/AUDIT.md lists the attributes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/frame.h"

namespace signalbox {

// Appends the line, with its line break, of the record in `frame`, which decodes to `record` and
// has this leaf; `source` is the log's name. The same arguments always give the same bytes.
void append_cloud_event(const Frame& frame, const Record& record, const Digest& leaf,
                        std::string_view source, std::string& out);

// The frame of the record that a line carries, redacted or not, into `frame`. False if the line
// doesn't carry it whole; the rest of the line isn't looked at.
bool carried_frame(std::string_view line, std::string& frame);

// The version of the event that the line's `data` shows; nothing if it doesn't say.
std::optional<std::uint16_t> shown_version(std::string_view line);

}  // namespace signalbox
