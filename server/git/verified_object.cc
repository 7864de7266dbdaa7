#include "server/git/verified_object.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace signalbox {
namespace {

// Objects of one call: their names fit into the arguments of a process.
constexpr std::size_t objects_per_call = 1000;

}  // namespace

// `rev-parse` parses each object to see that it is of the type, and git computes the id of what it
// parses.
tl::expected<void, ObjectError> verify_objects(const PinnedRepository& pinned,
                                               const std::vector<std::string>& objects) {
  for (std::size_t begin = 0; begin < objects.size(); begin += objects_per_call) {
    const std::size_t end = std::min(begin + objects_per_call, objects.size());
    std::vector<std::string> arguments{"rev-parse"};
    for (std::size_t index = begin; index < end; ++index) arguments.push_back(objects[index]);
    const GitOutcome parsed = pinned.in_repository(std::move(arguments));
    if (parsed.ok) continue;
    const bool is_forged = parsed.message.find("hash mismatch") != std::string::npos;
    return tl::unexpected(
        ObjectError{is_forged, parsed.message.substr(0, parsed.message.find('\n'))});
  }
  return {};
}

}  // namespace signalbox
