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
  const auto stored = read_stored_json<StoredRepositories>(directory_ / repositories_file_name);
  if (stored) paths_.insert(stored->paths.begin(), stored->paths.end());
}

void RunRepositories::add(const std::string& path) {
  if (path.empty() || paths_.size() >= limits::projects_max) return;
  if (paths_.insert(path).second) is_saved_ = false;
}

Stored<void> RunRepositories::save() {
  if (is_saved_) return {};
  StoredRepositories stored;
  std::size_t bytes = 0;
  for (const std::string& path : paths_) {
    bytes += path.size();
    if (bytes <= limits::run_repositories_bytes_max) stored.paths.push_back(path);
  }
  TRY(make_directories(directory_));
  TRY(write_stored_json(directory_ / repositories_file_name, stored));
  is_saved_ = true;
  return {};
}

}  // namespace signalbox
