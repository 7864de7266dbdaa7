// Between an event and the payload bytes that stand for it. The byte layout is in FORMAT.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "domain/event.h"
#include "domain/pipeline.h"
#include "store/store_error.h"

namespace signalbox {

// The tag of every event there is, in the order of the variants.
std::span<const EventTag> event_tags();

// Appends the payload of `event`, in its current version.
void encode_payload(const Event& event, std::string& out);

// An event of today from the payload of any version of it. `unsupported` for a number or a version
// that a newer program must have written, `damaged` where the bytes don't spell exactly one such
// event. Never throws.
Stored<Event> decode_payload(std::uint16_t number, std::uint16_t version, std::string_view bytes);

// The same, in place; after an error `event` is of no use.
Stored<void> decode_payload(std::uint16_t number, std::uint16_t version, std::string_view bytes,
                            Event& event);

// SHA-256 of the definition's payload encoding: what a run's first event pins.
Digest pipeline_digest(const PipelineDefinition& pipeline);

}  // namespace signalbox
