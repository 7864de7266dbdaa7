#include "tools/replay/replay_against.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "projections/world_digest.h"
#include "tools/cli/json_fields.h"
#include "tools/replay/replay.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using Digests = std::map<Position, std::string>;

Digests digests_of(const json::object& result) {
  Digests digests;
  for (const json::value& each : array_at(result, "digests")) {
    if (!each.is_object()) continue;
    digests.emplace(number_at(each.get_object(), "position"),
                    text_at(each.get_object(), "state_digest"));
  }
  digests.emplace(number_at(result, "position"), text_at(result, "state_digest"));
  return digests;
}

// Requires that the program read the log up to the same end, and that it was the same log.
Called<void> require_same_log(const OtherProgram& other, const json::object& ours,
                              const json::object& theirs) {
  const Position end = number_at(ours, "position");
  if (!theirs.contains("position") || text_at(theirs, "state_digest").empty()) {
    return tl::unexpected(against_incomplete(
        other.name(), "answers without the position and the state digest at its end"));
  }
  if (number_at(theirs, "position") != end) {
    return tl::unexpected(against_other_log(
        other.name(),
        "replayed up to " + text_at(theirs, "position") + " instead of " + std::to_string(end)));
  }
  std::string root = text_at(theirs, "root");
  if (root.empty()) {
    auto asked = TRY(other.root(end));
    root = std::move(asked);
  }
  if (root == text_at(ours, "root")) return {};
  return tl::unexpected(against_other_log(
      other.name(), "replayed another log: the root of its tree at " + std::to_string(end) +
                        " is " + root + ", here it is " + text_at(ours, "root")));
}

Called<bool> same_at(const std::filesystem::path& data, const OtherProgram& other,
                     Position position) {
  ReplayRequest request;
  request.data = data;
  request.to = position;
  const auto ours = TRY(replay(request));
  const auto theirs = TRY(other.replay({"--to", std::to_string(position)}));
  if (!theirs) return tl::unexpected(against_unusable(other.name(), "doesn't know replay --to"));
  if (number_at(*theirs, "position") != position) {
    return tl::unexpected(
        against_incomplete(other.name(), "doesn't replay up to " + std::to_string(position)));
  }
  return to_hex(world_digest(ours.world)) == text_at(*theirs, "state_digest");
}

// Narrows down the first event after which the states differ: they are the same at `same`, and
// others at `differs`.
Called<Position> first_difference(const std::filesystem::path& data, const OtherProgram& other,
                                  Position same, Position differs) {
  while (same + 1 < differs) {
    const Position middle = same + (differs - same) / 2;
    const auto equal = TRY(same_at(data, other, middle));
    (equal ? same : differs) = middle;
  }
  return differs;
}

}  // namespace

Called<std::size_t> compare_replay(const std::filesystem::path& data, const OtherProgram& other,
                                   const json::object& ours) {
  const std::string end = text_at(ours, "position");
  Digests expected = digests_of(ours);
  auto theirs = TRY(other.replay({"--to", end, "--digest-every", text_at(ours, "digest_every")}));
  if (!theirs) {
    auto at_end = TRY(other.replay({"--to", end}));
    theirs = std::move(at_end);
    expected = {{number_at(ours, "position"), text_at(ours, "state_digest")}};
  }
  if (!theirs) return tl::unexpected(against_unusable(other.name(), "doesn't know replay --to"));
  TRY(require_same_log(other, ours, *theirs));
  const Digests their_digests = digests_of(*theirs);
  Position same = number_at(ours, "folded_after");
  for (const auto& [position, digest] : expected) {
    const auto their_digest = their_digests.find(position);
    if (their_digest == their_digests.end() || their_digest->second.empty()) {
      return tl::unexpected(against_incomplete(
          other.name(), "has no state digest at " + std::to_string(position) + ": it has " +
                            std::to_string(their_digests.size()) + ", and " +
                            std::to_string(expected.size()) + " have to be compared"));
    }
    if (their_digest->second == digest) {
      same = position;
      continue;
    }
    const auto differs = TRY(first_difference(data, other, same, position));
    return tl::unexpected(from_rejection(
        {ErrorCode::STORAGE_DAMAGED,
         other.name() + " has another state than this program after the event at " +
             std::to_string(differs),
         {{"position", static_cast<std::int64_t>(differs)}, {"program", other.name()}},
         {"signalbox replay --step --to " + std::to_string(differs)}}));
  }
  return expected.size();
}

}  // namespace signalbox
