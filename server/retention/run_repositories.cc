#include "server/retention/run_repositories.h"

#include <utility>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/platform/stored_json.h"
#include "server/scheduler/file_retention.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr const char* repositories_file_name = "repositories";  // no run has that name

}  // namespace

Stored<void> RunRepositories::load() {
  if (is_loaded_) return {};
  auto stored = read_stored_json<StoredRepositories>(file());
  if (!stored && stored.error().kind != StoreError::Kind::not_found) {
    stored.error().message =
        "the repositories of ended runs can't be read: " + stored.error().message +
        "; put the file right, or remove it: then branches in repositories "
        "that nothing else names stay";
    return tl::unexpected(std::move(stored.error()));
  }
  is_loaded_ = true;
  if (!stored) return {};
  for (const std::string& path : stored->paths) {
    if (paths_.insert(path).second) bytes_ += path.size();
  }
  return {};
}

void RunRepositories::add(const std::string& path) {
  if (path.empty() || paths_.size() >= limits::projects_max) return;
  if (!paths_.insert(path).second) return;
  bytes_ += path.size();
  is_saved_ = false;
}

void RunRepositories::remove(const std::string& path) {
  if (paths_.erase(path) == 0) return;
  bytes_ -= path.size();
  is_saved_ = false;
}

bool RunRepositories::is_full() const {
  return paths_.size() >= limits::projects_max || bytes_ > limits::run_repositories_bytes_max;
}

std::filesystem::path RunRepositories::file() const { return directory_ / repositories_file_name; }

Stored<void> RunRepositories::save() {
  if (is_saved_) return {};
  StoredRepositories stored;
  std::size_t bytes = 0;
  for (const std::string& path : paths_) {
    bytes += path.size();
    if (bytes <= limits::run_repositories_bytes_max) stored.paths.push_back(path);
  }
  TRY(make_directories(directory_));
  TRY(write_stored_json(file(), stored));
  is_saved_ = true;
  return {};
}

}  // namespace signalbox
