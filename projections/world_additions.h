// What later formats of a world have added. Each addition is apart from the members that it belongs
// to, so that the bases of older formats can still be read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "domain/world.h"

namespace signalbox {

namespace described {
class Reader;
class Writer;
}  // namespace described

void write_additions(described::Writer& writer, const World& world);
// Reads those that a world of `format` has, and finds out as much of the others as it tells. Throws
// described::Malformed.
void read_additions(described::Reader& reader, World& world, std::uint32_t format);

// The number of members before a collection.
void write_count(described::Writer& writer, std::size_t count);
std::uint64_t read_count(described::Reader& reader);

}  // namespace signalbox
