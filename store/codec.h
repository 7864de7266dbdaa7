// Encodes events to payload bytes and decodes them. The byte layout is in FORMAT.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "domain/event.h"
#include "domain/pipeline.h"
#include "store/store_error.h"

namespace signalbox {

// Returns the tags of all events, in the order of the variants.
std::span<const EventTag> event_tags();

// Appends the payload of `event`, in its current version.
void encode_payload(const Event& event, std::string& out);

// Decodes the payload of any version of an event into the current version. Fails with `unsupported`
// for a number or a version that a newer program must have written, and with `damaged` if `bytes`
// aren't exactly one such event. Never throws.
Stored<Event> decode_payload(std::uint16_t number, std::uint16_t version, std::string_view bytes);

// Does the same in place. After an error `event` is unspecified.
Stored<void> decode_payload(std::uint16_t number, std::uint16_t version, std::string_view bytes,
                            Event& event);

// Returns the SHA-256 of the definition's payload encoding. A run's first event pins its pipeline
// by it.
Digest pipeline_digest(const PipelineDefinition& pipeline);

// Returns the payload encoding that `digest` is of: the present one, or the one before (runs on
// users' disks have pinned their pipelines by it). If it is of neither, returns the present one.
std::string encode_pipeline(const PipelineDefinition& pipeline, const Digest& digest);

// Decodes either. Fails with `damaged` if `bytes` are neither. Never throws.
Stored<PipelineDefinition> decode_pipeline(std::string_view bytes);

}  // namespace signalbox
