#include "domain/run_roots.h"

#include <filesystem>

#include "domain/refusals.h"
#include "domain/world.h"

namespace signalbox {
namespace {

// Returns the path without ".", ".." and repeated slashes, and with a slash at its end: a path
// below another one begins with that.
std::string place_of(const std::string& path) {
  return (std::filesystem::path(path).lexically_normal() / "").string();
}

}  // namespace

void RunRoots::insert(const Run& run) {
  if (!run.run_root.empty()) runs_.emplace(place_of(run.run_root), run.id);
}

void RunRoots::erase(const Run& run) {
  if (!run.run_root.empty()) runs_.erase({place_of(run.run_root), run.id});
}

std::optional<RunId> RunRoots::overlapping(const std::string& run_root) const {
  if (run_root.empty()) return std::nullopt;
  const std::string place = place_of(run_root);
  const auto first = runs_.lower_bound({place, RunId{}});
  if (first != runs_.end() && first->first.starts_with(place)) return first->second;
  for (std::size_t slash = place.find('/'); slash != std::string::npos;
       slash = place.find('/', slash + 1)) {
    const std::string above = place.substr(0, slash + 1);
    const auto found = runs_.lower_bound({above, RunId{}});
    if (found != runs_.end() && found->first == above) return found->second;
  }
  return std::nullopt;
}

Decided<void> require_free_root(const World& world, const std::string& run_root) {
  const auto holder = world.run_roots.overlapping(run_root);
  if (!holder) return {};
  const Run& other = *world.find_run(*holder);
  const std::string id = to_string(other.id);
  const std::string own = place_of(other.run_root);
  const std::string place = place_of(run_root);
  std::string message = "run_root " + run_root;
  if (place == own) {
    message += " is that of run " + id + ", which is open";
  } else if (place.starts_with(own)) {
    message += " lies in that of run " + id + ", which is open";
  } else {
    message += " has that of run " + id + " inside, which is open";
  }
  return reject(ErrorCode::RUN_ROOT_TAKEN,
                message + ": name another directory, or wait for the end of that run",
                {{"run_root", run_root},
                 {"run_id", id},
                 {"status", std::string(name_of(other.status))},
                 {"taken_run_root", other.run_root}},
                {"signalbox run why " + id});
}

}  // namespace signalbox
