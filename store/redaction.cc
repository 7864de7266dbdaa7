#include "store/redaction.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "domain/check.h"
#include "domain/limits.h"
#include "domain/try.h"
#include "store/entry.h"

namespace signalbox {
namespace {

constexpr const char* unlike_its_event =
    "what lies in the place of its payload isn't what the event of its redaction tells of";

// Limit for the header plus the replacement of its payload.
constexpr std::size_t replaced_bytes_max =
    limits::record_bytes_max + limits::redacted_growth_bytes_max - 64;
static_assert(8 + sizeof(Digest) <= 64, "checksum, length and digest come to it");

// Calls `visit` with the record at `position`, whose entry begins at `first`.
Stored<void> with_frame(std::string_view entry, Position first, Position position,
                        const std::function<Stored<void>(const Frame&)>& visit) {
  const auto walked = TRY(for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
    if (frame.position == position) TRY(visit(frame));
    return true;
  }));
  if (walked.next <= position) return tl::unexpected(damaged_at(position, "it is missing"));
  return {};
}

}  // namespace

Stored<RedactedEntry> redact_entry(std::string_view entry, Position first, Position position,
                                   const Event& replacement, const Salt& salt) {
  RedactedEntry redacted;
  const std::string bytes = replacement_of(replacement, salt);
  redacted.replacement_digest = sha256(bytes);
  TRY(with_frame(entry, first, position, [&](const Frame& frame) -> Stored<void> {
    SIGNALBOX_CHECK(tag_of(replacement).number == frame.number);
    SIGNALBOX_CHECK(frame.header.size() + bytes.size() <= replaced_bytes_max);
    Sha256 hashing;
    redacted.payload_digest = payload_digest(frame, hashing);
    return {};
  }));
  redacted.bytes = TRY(replace_payload(entry, first, position, bytes));
  return redacted;
}

Stored<std::string> replace_payload(std::string_view entry, Position first, Position position,
                                    std::string_view replacement) {
  std::string replaced;
  Sha256 hashing;
  const auto walked = TRY(for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
    if (frame.position == position) {
      append_redacted_frame(frame.header, payload_digest(frame, hashing), replacement, replaced);
    } else {
      append_frame(frame, replaced);
    }
    return true;
  }));
  if (walked.next <= position) return tl::unexpected(damaged_at(position, "it is missing"));
  return replaced;
}

Stored<FollowedRedaction> apply_redaction(std::string_view entry, Position first,
                                          const PayloadRedacted& event,
                                          std::string_view replacement) {
  FollowedRedaction applied;
  const Position position = event.redacted_position;
  bool has_replacement = false;
  TRY(with_frame(entry, first, position, [&](const Frame& frame) -> Stored<void> {
    Sha256 hashing;
    if (payload_digest(frame, hashing) != event.payload_digest) {
      return tl::unexpected(damaged_at(position, "its redaction is about another payload"));
    }
    has_replacement = frame.redacted() && sha256(frame.replacement) == event.replacement_digest;
    return {};
  }));
  if (has_replacement) return applied;
  applied.is_awaited = replacement.empty() || sha256(replacement) != event.replacement_digest;
  if (!applied.is_awaited) {
    applied.entry = TRY(replace_payload(entry, first, position, replacement));
  }
  return applied;
}

void set_digests(Record& note, const RedactedEntry& redacted) {
  auto* noun = std::get_if<AccessEvent>(&note.event);
  auto* event = noun == nullptr ? nullptr : std::get_if<PayloadRedacted>(noun);
  SIGNALBOX_CHECK(event != nullptr);
  event->payload_digest = redacted.payload_digest;
  event->replacement_digest = redacted.replacement_digest;
}

Stored<void> RedactionLedger::note_rare(const Frame& frame) {
  Sha256 hashing;
  if (frame.redacted()) {
    from_records_[frame.position] = {payload_digest(frame, hashing), sha256(frame.replacement)};
  }
  if (frame.number != PayloadRedacted::tag.number) return {};
  Record record;
  TRY(decode_frame(frame, record));
  const auto* event = event_as<PayloadRedacted>(record.event);
  if (event->redacted_position == 0 || event->redacted_position >= frame.position) {
    return tl::unexpected(damaged_at(frame.position, "it redacts what doesn't lie before it"));
  }
  std::vector<Told>& events = from_events_[event->redacted_position];
  const auto place = std::find_if(events.begin(), events.end(), [&frame](const Told& told) {
    return told.position > frame.position;
  });
  events.insert(place, {frame.position, {event->payload_digest, event->replacement_digest}});
  return {};
}

bool fits_as_replacement(const Frame& frame, const Event& replacement) {
  return frame.header.size() + replacement_of(replacement, Salt{}).size() <= replaced_bytes_max;
}

std::vector<Position> RedactionLedger::missing_before(Position from) const {
  std::vector<Position> positions;
  for (const auto& [position, digests] : from_events_) {
    if (position < from && !from_records_.contains(position)) positions.push_back(position);
  }
  return positions;
}

std::map<Position, RedactionLedger::Told> RedactionLedger::latest_events() const {
  std::map<Position, Told> latest;
  for (const auto& [position, events] : from_events_) latest.emplace(position, events.back());
  return latest;
}

std::optional<RedactionLedger::Digests> RedactionLedger::redacted_at(Position position) const {
  const auto record = from_records_.find(position);
  return record == from_records_.end() ? std::nullopt : std::optional(record->second);
}

bool RedactionLedger::lacks_event() const {
  return std::any_of(from_records_.begin(), from_records_.end(),
                     [this](const auto& each) { return mismatch_at(each.first).has_value(); });
}

bool RedactionLedger::is_told(Position position, const Digests& digests) const {
  const auto events = from_events_.find(position);
  return events != from_events_.end() &&
         std::any_of(events->second.begin(), events->second.end(),
                     [&](const Told& told) { return told.digests == digests; });
}

std::vector<Position> RedactionLedger::untold() const {
  std::vector<Position> positions;
  for (const auto& [position, digests] : from_records_) {
    if (!is_told(position, digests)) positions.push_back(position);
  }
  return positions;
}

std::optional<std::string> RedactionLedger::mismatch_at(Position position) const {
  const auto record = from_records_.find(position);
  const auto events = from_events_.find(position);
  if (record == from_records_.end()) return "its payload was erased, and is there again";
  if (events == from_events_.end())
    return "its payload is another one, and no event says that it was redacted";
  if (record->second == events->second.back().digests) return std::nullopt;
  return unlike_its_event;
}

Stored<void> RedactionLedger::check_log() const {
  for (const auto& [position, events] : from_events_) {
    if (auto wrong = mismatch_at(position)) {
      return tl::unexpected(damaged_at(position, *std::move(wrong)));
    }
  }
  for (const auto& [position, digests] : from_records_) {
    if (auto wrong = mismatch_at(position)) {
      return tl::unexpected(damaged_at(position, *std::move(wrong)));
    }
  }
  return {};
}

std::map<Position, std::string> RedactionLedger::check_copies() const {
  std::map<Position, std::string> findings;
  for (const auto& [position, digests] : from_records_) {
    const bool has_event = from_events_.contains(position);
    if (has_event && !is_told(position, digests)) findings.emplace(position, unlike_its_event);
  }
  return findings;
}

}  // namespace signalbox
