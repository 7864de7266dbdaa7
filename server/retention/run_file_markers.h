// Markers of runs whose files a retention removed: <data>/removed/<run id>. A marker is written
// before the first file goes, so after a crash the next round knows that the run can't be retried
// any more, and goes on. All functions block on the disk. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

struct RunFileMarker {
  std::string schema = "run_files_removed.v1";
  std::string run_id;
  std::string begun_at;      // RFC 3339, UTC
  bool is_complete = false;  // nothing of the run is left; else something was kept
};
BOOST_DESCRIBE_STRUCT(RunFileMarker, (), (schema, run_id, begun_at, is_complete))

class RunFileMarkers {
 public:
  explicit RunFileMarkers(std::filesystem::path data) : directory_(std::move(data) / "removed") {}

  // Returns whether files of the run were removed; a marker that can't be read counts.
  [[nodiscard]] bool has(const RunId& run_id) const;
  // Returns whether there is a marker that this server wrote for the run; false if it can't be
  // read.
  [[nodiscard]] bool is_of_this_server(const RunId& run_id) const;
  // Returns whether all of them were.
  [[nodiscard]] bool is_complete(const RunId& run_id) const;
  // Writes the marker, durably; does nothing if it is there. Errors: `full` or `io`.
  Stored<void> begin(const RunId& run_id, std::int64_t now_ns) const;
  // Removes the markers of runs that `is_needed` is false for.
  void prune(const std::function<bool(const RunId&)>& is_needed) const;
  // Notes that nothing is left.
  Stored<void> complete(const RunId& run_id, std::int64_t now_ns) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const RunId& run_id) const;
  Stored<void> write(const RunId& run_id, std::int64_t now_ns, bool is_complete) const;

  std::filesystem::path directory_;
};

}  // namespace signalbox
