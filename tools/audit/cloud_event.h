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

// The bytes of the record that a line carries.
struct CarriedRecord {
  std::string header;
  std::string salted_payload;
};

// Nothing if the line doesn't carry them whole. The rest of the line isn't looked at.
bool carried_record(std::string_view line, CarriedRecord& carried);

// The version of the event that the line's `data` shows; nothing if it doesn't say.
std::optional<std::uint16_t> shown_version(std::string_view line);

}  // namespace signalbox
