#include "server/followers/run_root/own_file.h"

#include "server/followers/run_root/lock_file.h"
#include "server/followers/run_root/tick_marker.h"

namespace signalbox {
namespace {

bool is_own_marker(const EventLog& log, const FileChange& removal, const ReadFoundFile& look) {
  const FoundMarker marker = look_at_tick_marker(removal.root, log, /*wall_ns=*/0, look).found;
  if (marker.kind == FoundMarker::Kind::known) return true;
  if (removal.halted_at == 0 || removal.halted_at > log.tail()) return false;
  const auto records = log.read(removal.halted_at, 1);
  if (!records || records->empty()) return false;
  const auto* halt = event_as<TickIncompleteDetected>(records->front().event);
  return halt != nullptr && halt->marker == marker.text;
}

}  // namespace

bool may_remove(const EventLog& log, const FileChange& removal, const FoundFile& found) {
  if (found.kind == FoundFile::Kind::none) return true;
  const ReadFoundFile look = [&found](const std::filesystem::path&, std::size_t) { return found; };
  if (removal.path == run_root_path::lock) {
    return read_lock_file(removal.root, log, look).token != 0;
  }
  return removal.path != run_root_path::tick_marker || is_own_marker(log, removal, look);
}

}  // namespace signalbox
