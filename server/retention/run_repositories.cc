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

void RunRepositories::load() {
  if (std::exchange(is_loaded_, true)) return;
  const auto stored = read_stored_json<StoredRepositories>(file());
  if (!stored) return;
  for (const std::string& path : stored->paths) {
    if (paths_.insert(path).second) bytes_ += path.size();
  }
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
