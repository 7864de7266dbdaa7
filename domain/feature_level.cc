#include "domain/feature_level.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "domain/event.h"

namespace signalbox {
namespace {

struct LevelOfEvent {
  std::uint16_t number;
  std::uint16_t version;
  FeatureLevel level;
};

// What came after level 1: the place for each event, and each version of one, that is new. Append
// only. Those that are released together share a level.
constexpr std::array later_events = {
    LevelOfEvent{1001, 1, 2},  // RunnerDrained
    LevelOfEvent{1002, 1, 2},  // RunnerUndrained
    LevelOfEvent{1003, 1, 2},  // RunnerEvicted
    LevelOfEvent{1004, 1, 2},  // RunnerReadmitted
    LevelOfEvent{106, 2, 2},   // HistoryDropped with the age of failed runs
    LevelOfEvent{210, 1, 3},   // LateUsageReported
};
static_assert(std::max(later_events.back().level, feature_level_of_redactions) ==
              feature_level_newest);

// Level 1, which never changes: the numbers of its events, and the latest versions that it has of
// them if that isn't 1.
struct NumberRange {
  std::uint16_t first;
  std::uint16_t last;
};
constexpr std::array first_numbers = {
    NumberRange{101, 110}, NumberRange{201, 209}, NumberRange{301, 323},
    NumberRange{401, 406}, NumberRange{501, 508}, NumberRange{601, 613},
    NumberRange{701, 705}, NumberRange{801, 811}, NumberRange{901, 905}};
struct NumberAndVersion {
  std::uint16_t number;
  std::uint16_t version;
};
constexpr std::array first_versions = {
    NumberAndVersion{201, 3}, NumberAndVersion{204, 2}, NumberAndVersion{209, 3},
    NumberAndVersion{301, 2}, NumberAndVersion{302, 2}, NumberAndVersion{501, 2},
    NumberAndVersion{504, 2}, NumberAndVersion{701, 2}, NumberAndVersion{702, 2}};

constexpr bool is_of_first_level(const EventTag& tag) {
  const bool has_number = std::ranges::any_of(first_numbers, [&tag](const NumberRange& range) {
    return range.first <= tag.number && tag.number <= range.last;
  });
  const auto* const latest =
      std::ranges::find(first_versions, tag.number, &NumberAndVersion::number);
  return has_number && tag.version <= (latest == first_versions.end() ? 1 : latest->version);
}

constexpr FeatureLevel level_of(const EventTag& tag) {
  const auto* const later = std::ranges::find_if(later_events, [&tag](const LevelOfEvent& each) {
    return each.number == tag.number && each.version == tag.version;
  });
  if (later != later_events.end()) return later->level;
  return is_of_first_level(tag) ? feature_level_min : 0;
}

template <class... Events>
constexpr bool have_levels(const std::variant<Events...>* /*noun*/) {
  return ((level_of(Events::tag) > 0) && ...);
}
template <class... Nouns>
constexpr bool all_have_levels(const std::variant<Nouns...>* /*nouns*/) {
  return (have_levels(static_cast<const typename Nouns::Alternatives*>(nullptr)) && ...);
}
static_assert(all_have_levels(static_cast<const EventNouns*>(nullptr)),
              "an event, or its new version, has no feature level: add it to later_events, with a "
              "level above that of the latest release, so that a mixed cell doesn't write it");

// Returns CELL_UPGRADE_NEEDED for an event of this name.
Rejection upgrade_needed(std::string_view event, const std::string& what, FeatureLevel needed,
                         FeatureLevel level) {
  return {ErrorCode::CELL_UPGRADE_NEEDED,
          "the cell is at feature level " + std::to_string(level) + ", and " + what + " needs " +
              std::to_string(needed) +
              ", so that servers of an earlier version can still read the log: once all servers "
              "of the cell have the new version, run `signalbox cell upgrade`",
          {{"event", std::string(event)},
           {"feature_level", std::int64_t{level}},
           {"needed", std::int64_t{needed}}},
          {"signalbox cell status", "signalbox cell upgrade"}};
}

}  // namespace

FeatureLevel feature_level_of(const EventTag& tag) { return level_of(tag); }

Rejection feature_level_refusal(const EventTag& tag, FeatureLevel level) {
  return upgrade_needed(tag.name, std::string(tag.name), level_of(tag), level);
}

Rejection redaction_level_refusal(FeatureLevel level) {
  return upgrade_needed(PayloadRedacted::tag.name, "a redaction", feature_level_of_redactions,
                        level);
}

}  // namespace signalbox
