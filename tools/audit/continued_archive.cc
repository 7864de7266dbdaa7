#include "tools/audit/continued_archive.h"

#include <optional>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "server/scheduler/retention_settings.h"
#include "server/text/separated_text.h"
#include "store/durable_file.h"
#include "store/sha256.h"
#include "store/tree_head.h"
#include "tools/audit/export_manifest.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int archive_number = -32098;  // a client error; the others are in call_error.cc

// Returns the text of a note without looking at its signatures: the log itself says what the text
// has to be, and the key that signed it may have been replaced since.
std::string unsigned_text(const std::string& note) {
  const std::size_t end = note.rfind("\n\n");
  return end == std::string::npos ? std::string() : note.substr(0, end + 1);
}

CallError archive_lost(const HistoryDropped& dropped, const std::string& what) {
  const std::string archive = dropped.archive;
  return archive_refused(
      "ARCHIVE_LOST",
      "the archive " + archive + ", which the next one would continue, isn't there: " + what +
          "; put it back (only the latest has to stay in its place), or go on without it with "
          "audit retain --archive-lost",
      {"ls -ld " + for_the_shell(fs::path(archive).parent_path().string()) + "/*",
       "signalbox audit retain --help"});
}

CallError archive_changed(const HistoryDropped& dropped, const std::string& key,
                          const std::string& what) {
  const std::string archive = dropped.archive;
  return archive_refused(
      "ARCHIVE_CHANGED",
      "the archive " + archive +
          ", which the next one would continue, isn't what was archived: " + what +
          "; put the right one back, or go on without it with audit "
          "retain --archive-lost",
      {"signalbox audit verify " + for_the_shell(archive) + " --key " + for_the_shell(key),
       "signalbox audit retain --help"});
}

// FROM and TO of an archive's name.
std::optional<PositionRange> range_of(const std::string& name) {
  std::string_view to = name;
  const auto first = whole_number<Position>(take_until(to, '-'));
  const auto last = whole_number<Position>(to);
  if (!first || !last) return std::nullopt;
  return PositionRange{*first, *last};
}

}  // namespace

CallError archive_refused(const char* code, std::string message,
                          std::vector<std::string> next_commands) {
  CallError error;
  error.exit_code = ExitCode::refused;
  error.error["code"] = archive_number;
  error.error["message"] = std::move(message);
  error.error["data"] =
      json::object{{"code", code},
                   {"details", json::object()},
                   {"next_commands", json::array(next_commands.begin(), next_commands.end())}};
  return error;
}

CallError archive_inside_data(const fs::path& archives) {
  return usage_error("--archive " + archives.string() +
                     " is in the data directory, with which it would be lost: name one elsewhere, "
                     "best on another disk");
}

Called<void> require_continued_archive(const EventLog& log, const std::string& key) {
  const auto drop = latest_drop(log);
  if (!drop) return {};
  const auto& dropped = *event_as<HistoryDropped>(drop->event);
  const fs::path archive = std::string(dropped.archive);
  const auto manifest_note = read_file(archive / manifest_name, manifest_bytes_max);
  if (!manifest_note) return tl::unexpected(archive_lost(dropped, manifest_note.error().message));
  const auto checkpoint_note = read_file(archive / checkpoint_name, checkpoint_bytes_max);
  if (!checkpoint_note) {
    return tl::unexpected(archive_lost(dropped, checkpoint_note.error().message));
  }
  const TreeHead head{dropped.origin, dropped.horizon, dropped.root};
  if (unsigned_text(*checkpoint_note) != tree_head_text(head)) {
    return tl::unexpected(archive_changed(
        dropped, key,
        "its checkpoint isn't that of the records up to " + std::to_string(dropped.horizon)));
  }
  const auto manifest = parse_manifest(unsigned_text(*manifest_note));
  if (!manifest || manifest->from != dropped.from || manifest->to != dropped.horizon ||
      manifest->root != dropped.root || manifest->origin != dropped.origin) {
    return tl::unexpected(archive_changed(dropped, key,
                                          "its manifest isn't that of the records " +
                                              std::to_string(dropped.from) + " to " +
                                              std::to_string(dropped.horizon)));
  }
  for (const ExportSegment& segment : manifest->segments) {
    std::error_code failed;
    if (!fs::is_regular_file(archive / segment.lines_name(), failed)) {
      return tl::unexpected(archive_lost(dropped, segment.lines_name() + " is missing"));
    }
    const auto digests =
        read_file(archive / segment.digests_name(), segment_records_max * record_digests_bytes);
    if (!digests) return tl::unexpected(archive_lost(dropped, digests.error().message));
    if (sha256(*digests) != segment.digests_sha256) {
      return tl::unexpected(archive_changed(
          dropped, key, segment.digests_name() + " isn't the one that the manifest names"));
    }
  }
  return {};
}

Called<fs::path> archive_place(const fs::path& archives, const std::string& name,
                               const fs::path& data) {
  if (is_in_directory(archives, data)) return tl::unexpected(archive_inside_data(archives));
  std::error_code failed;
  fs::create_directories(archives, failed);  // what fails here is said by the export
  fs::path place = fs::weakly_canonical(fs::absolute(archives, failed), failed);
  if (failed) place = fs::absolute(archives, failed);
  if (is_in_directory(place, data)) return tl::unexpected(archive_inside_data(archives));
  if (fs::is_symlink(fs::symlink_status(place / name, failed))) {
    return tl::unexpected(usage_error((place / name).string() +
                                      " is a link; an archive is written into a directory of its "
                                      "own: remove the link"));
  }
  return place / name;
}

fs::path find_archive(const EventLog& log, Position position) {
  const auto drop = latest_drop(log);
  if (!drop) return {};
  const auto& dropped = *event_as<HistoryDropped>(drop->event);
  const fs::path latest = std::string(dropped.archive);
  if (position >= dropped.from && position <= dropped.horizon) return latest;
  std::error_code failed;
  for (fs::directory_iterator each(latest.parent_path(), failed), end; !failed && each != end;
       each.increment(failed)) {
    const auto range = range_of(each->path().filename().string());
    if (range && position >= range->first && position <= range->last) return each->path();
  }
  return {};
}

}  // namespace signalbox
