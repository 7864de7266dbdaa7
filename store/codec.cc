#include "store/codec.h"

#include <algorithm>
#include <array>
#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

#include "domain/try.h"
#include "store/described_archive.h"
#include "store/frozen_project_events.h"
#include "store/frozen_run_events.h"
#include "store/frozen_server_events.h"
#include "store/frozen_tick_events.h"
#include "store/history.h"
#include "store/newer_version.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

using Decode = void (*)(std::uint16_t version, described::Reader& reader, Event& event);

template <class Noun, class Type>
void decode_type(std::uint16_t version, described::Reader& reader, Event& event) {
  described::read_version(version, reader, event.emplace<Noun>().template emplace<Type>());
}

struct EventType {
  EventTag tag;
  Decode decode;
};

// The table is derived from the variants, so no event can be forgotten here.
template <class Noun, class... Types>
constexpr auto types_of_noun(std::type_identity<std::variant<Types...>> /*events*/) {
  return std::array{EventType{Types::tag, &decode_type<Noun, Types>}...};
}

template <class... Nouns>
constexpr auto types_of_all(std::type_identity<std::variant<Nouns...>> /*all*/) {
  std::array<EventType, (std::variant_size_v<typename Nouns::Alternatives> + ...)> all{};
  auto place = all.begin();
  ((place = std::ranges::copy(
                types_of_noun<Nouns>(std::type_identity<typename Nouns::Alternatives>{}), place)
                .out),
   ...);
  return all;
}

constexpr auto types = types_of_all(std::type_identity<EventNouns>{});

constexpr auto tags = [] {
  std::array<EventTag, types.size()> all{};
  std::ranges::transform(types, all.begin(), &EventType::tag);
  return all;
}();

constexpr bool numbers_are_unique() {
  std::array<std::uint16_t, types.size()> numbers{};
  std::ranges::transform(tags, numbers.begin(), &EventTag::number);
  std::ranges::sort(numbers);
  return std::ranges::adjacent_find(numbers) == numbers.end() && numbers.front() > 0;
}
static_assert(numbers_are_unique(), "every event has a number of its own, from 1 on");

// Index into `types` by number; types.size() for none.
constexpr auto index_by_number = [] {
  constexpr std::size_t numbers = std::ranges::max(tags, {}, &EventTag::number).number + 1;
  std::array<std::uint16_t, numbers> indexes{};
  indexes.fill(static_cast<std::uint16_t>(types.size()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    indexes[types[i].tag.number] = static_cast<std::uint16_t>(i);
  }
  return indexes;
}();

}  // namespace

std::span<const EventTag> event_tags() { return tags; }

void encode_payload(const Event& event, std::string& out) {
  apply([&out](const auto& e) { described::encode(e, out); }, event);
}

Stored<void> decode_payload(std::uint16_t number, std::uint16_t version, std::string_view bytes,
                            Event& event) {
  const std::size_t index =
      number < index_by_number.size() ? index_by_number[number] : types.size();
  if (index == types.size()) {
    return newer_version_failure("event number " + std::to_string(number) +
                                 " is unknown to this version");
  }
  const EventType& type = types[index];
  if (version == 0 || version > type.tag.version) {
    return newer_version_failure(std::string(type.tag.name) + " has version " +
                                 std::to_string(version) + ", this program knows up to " +
                                 std::to_string(type.tag.version));
  }
  try {
    described::decode(bytes,
                      [&](described::Reader& reader) { type.decode(version, reader, event); });
  } catch (const std::exception& malformed) {
    return store_failure(StoreError::Kind::damaged, "the payload of " + std::string(type.tag.name) +
                                                        " has " + malformed.what());
  }
  return {};
}

Stored<Event> decode_payload(std::uint16_t number, std::uint16_t version, std::string_view bytes) {
  Stored<Event> event;
  TRY(decode_payload(number, version, bytes, *event));
  return event;
}

Digest pipeline_digest(const PipelineDefinition& pipeline) {
  std::string bytes;
  described::encode(pipeline, bytes);
  return sha256(bytes);
}

std::string encode_pipeline(const PipelineDefinition& pipeline, const Digest& digest) {
  std::string bytes;
  described::encode(pipeline, bytes);
  if (sha256(bytes) == digest) return bytes;
  std::string before;
  described::encode(as_stored_in_v2(pipeline), before);
  return sha256(before) == digest ? before : bytes;
}

Stored<PipelineDefinition> decode_pipeline(std::string_view bytes) {
  PipelineDefinition pipeline;
  try {
    described::decode(bytes, [&](described::Reader& reader) { reader.read(pipeline); });
    return pipeline;
  } catch (const std::exception&) {
    // It may be of the shape before.
  }
  PipelineDefinitionV2 old;
  try {
    described::decode(bytes, [&](described::Reader& reader) { reader.read(old); });
  } catch (const std::exception& malformed) {
    return store_failure(StoreError::Kind::damaged,
                         std::string("the pipeline has ") + malformed.what());
  }
  return upcast(std::move(old));
}

}  // namespace signalbox
