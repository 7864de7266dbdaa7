#include "server/retention/run_file_markers.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "domain/try.h"
#include "server/platform/stored_json.h"
#include "server/text/time_text.h"
#include "store/durable_file.h"

namespace signalbox {

std::filesystem::path RunFileMarkers::path_of(const RunId& run_id) const {
  return directory_ / to_string(run_id);
}

bool RunFileMarkers::has(const RunId& run_id) const {
  struct stat status {};
  return ::lstat(path_of(run_id).c_str(), &status) == 0 || errno != ENOENT;
}

bool RunFileMarkers::is_of_this_server(const RunId& run_id) const {
  const auto marker = read_stored_json<RunFileMarker>(path_of(run_id));
  return marker && marker->run_id == to_string(run_id);
}

bool RunFileMarkers::is_complete(const RunId& run_id) const {
  const auto marker = read_stored_json<RunFileMarker>(path_of(run_id));
  return marker && marker->is_complete;
}

Stored<void> RunFileMarkers::begin(const RunId& run_id, std::int64_t now_ns) const {
  if (read_stored_json<RunFileMarker>(path_of(run_id))) return {};
  return write(run_id, now_ns, /*is_complete=*/false);
}

Stored<void> RunFileMarkers::complete(const RunId& run_id, std::int64_t now_ns) const {
  return write(run_id, now_ns, /*is_complete=*/true);
}

void RunFileMarkers::prune(const std::function<bool(const RunId&)>& is_needed) const {
  std::error_code error;
  for (std::filesystem::directory_iterator each(directory_, error), end; !error && each != end;
       each.increment(error)) {
    const auto run_id = parse_uuid(each->path().filename().string());
    std::error_code ignored;
    if (run_id && !is_needed(*run_id)) std::filesystem::remove(each->path(), ignored);
  }
}

Stored<void> RunFileMarkers::write(const RunId& run_id, std::int64_t now_ns,
                                   bool is_complete) const {
  TRY(make_directories(directory_));
  RunFileMarker marker;
  marker.run_id = to_string(run_id);
  marker.begun_at = format_time(now_ns);
  marker.is_complete = is_complete;
  return write_stored_json(path_of(run_id), marker);
}

}  // namespace signalbox
