#include "server/followers/run_root/run_root_place.h"

#include <algorithm>
#include <utility>

#include "domain/refusals.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// "/a/" has an empty last part, which would count as a name below "/a".
fs::path without_last_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

// Returns the path without links, "." and ".."; lexically where the disk gives an error. Such a
// path can't be made either.
fs::path without_links(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(path, error);
  return without_last_slash(error ? path.lexically_normal() : resolved);
}

// Returns the names that lead from `directory` to `path`; {} for the directory itself or any path
// that isn't below it.
std::vector<std::string> names_below(const fs::path& path, const fs::path& directory) {
  const auto [left, rest] =
      std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  if (left != directory.end()) return {};
  std::vector<std::string> names;
  for (auto each = rest; each != path.end(); ++each) names.push_back(each->string());
  return names;
}

// Returns true if the files of a run root there would lie among the service's own.
bool is_in_data(const fs::path& place, const fs::path& data) {
  if (place == data) return true;
  const auto names = names_below(place, data);
  const bool is_own_root = names.size() == 2 && names.front() == "runs";
  return !names.empty() && !is_own_root;
}

}  // namespace

RunRootRule::RunRootRule(fs::path data, std::vector<fs::path> roots)
    : data_(std::move(data)), roots_(std::move(roots)), data_place_(without_links(data_)) {
  for (const fs::path& root : roots_) {
    root_places_.push_back(without_last_slash(root.lexically_normal()));
  }
}

void RunRootRule::resolve(std::size_t index) {
  fs::path place = without_links(roots_.at(index));
  const std::lock_guard lock(mutex_);
  root_places_.at(index) = std::move(place);
}

std::vector<fs::path> RunRootRule::root_places() const {
  const std::lock_guard lock(mutex_);
  return root_places_;
}

fs::path RunRootRule::Inside::place() const {
  fs::path path = directory;
  for (const std::string& name : names) path /= name;
  return path;
}

std::optional<RunRootRule::Inside> RunRootRule::inside(const fs::path& path) const {
  const fs::path written = without_last_slash(path.lexically_normal());
  const std::vector<fs::path> places = root_places();
  std::optional<Inside> innermost;
  for (std::size_t index = 0; index < roots_.size(); ++index) {
    const fs::path as_configured = without_last_slash(roots_[index].lexically_normal());
    for (const fs::path& root : {as_configured, places[index]}) {
      auto names = names_below(written, root);
      if (names.empty() || (innermost && innermost->names.size() <= names.size())) continue;
      innermost = Inside{places[index], std::move(names)};
    }
  }
  return innermost;
}

std::optional<RunRootRule::Inside> RunRootRule::guarded(const fs::path& path) const {
  if (auto found = inside(path)) return found;
  const fs::path written = without_last_slash(path.lexically_normal());
  for (const fs::path& data : {data_.lexically_normal(), data_place_}) {
    auto names = names_below(written, without_last_slash(data) / "runs");
    if (!names.empty()) return Inside{data_place_ / "runs", std::move(names)};
  }
  return std::nullopt;
}

Decided<void> check_run_root(const RunRootRule& rule, const std::string& run_root, Role role) {
  const fs::path place = without_links(run_root);
  if (is_in_data(place, rule.data_place())) {
    return reject(ErrorCode::INVALID_PARAMS, "run_root must lie outside the data directory",
                  {{"field", std::string("run_root")},
                   {"value", run_root},
                   {"data_directory", rule.data().string()}},
                  {"signalbox rpc server.status"});
  }
  const bool is_admin = may(role, Role::admin);
  const auto inside = rule.inside(run_root);
  if (inside && inside->place() != place) {
    return reject(is_admin ? ErrorCode::INVALID_PARAMS : ErrorCode::FORBIDDEN,
                  "run_root leads through a link, and links below a directory of run_roots aren't "
                  "followed: name the directory itself",
                  {{"field", std::string("run_root")},
                   {"value", run_root},
                   {"configured", inside->directory.string()}},
                  {"readlink -f " + shell_word(run_root)});
  }
  if (is_admin || inside) return {};
  std::vector<std::string> roots;
  for (const fs::path& root : rule.roots()) roots.push_back(root.string());
  const std::string reason = roots.empty() ? "the server allows none, except for admin"
                                           : "it is below none of those that the server allows";
  return reject(ErrorCode::FORBIDDEN,
                std::string(name_of(role)) + " may not name this run_root: " + reason,
                {{"field", std::string("run_root")},
                 {"value", run_root},
                 {"role", std::string(name_of(role))},
                 {"run_roots", std::move(roots)}},
                {"signalbox rpc server.status"});
}

Stored<void> require_writable_place(const fs::path& data, const std::string& run_root) {
  const auto refuse = [&run_root](const std::string& why) {
    return store_failure(StoreError::Kind::io, "can't write to the run root " + why, run_root);
  };
  if (const auto nul = run_root.find('\0'); nul != std::string::npos) {
    return refuse(run_root.substr(0, nul) + "…: its name has a NUL");
  }
  if (is_in_data(without_links(run_root), without_links(data))) {
    return refuse(run_root + ": it is inside the data directory");
  }
  return {};
}

}  // namespace signalbox
