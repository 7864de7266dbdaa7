#include "tools/audit/runs_of_files.h"

#include <iterator>
#include <set>

#include "domain/attempt_end.h"
#include "domain/try.h"
#include "server/access/secret.h"

namespace signalbox {
namespace {

void note_event(const Record& record, JobsOfRuns& jobs) {
  std::string& job = jobs[record.stream.run_id];
  if (const auto* intended = event_as<StationSubmitIntended>(record.event)) {
    job = intended->job_id;
  } else if (ends_attempt(record.event)) {
    job.clear();
  }
}

}  // namespace

std::optional<RunId> run_of_file(const std::filesystem::path& file,
                                 const std::filesystem::path& data) {
  const auto inside = file.lexically_relative(data);
  auto part = inside.begin();
  if (std::distance(part, inside.end()) < 2) return std::nullopt;
  const std::string folder = part->string();
  const std::string name = (++part)->string();
  if (folder == "runs") return parse_uuid(name);
  const auto job = folder == "jobs" ? parse_job_id(name) : std::nullopt;
  return job ? parse_uuid(job->run_id) : std::nullopt;
}

Called<JobsOfRuns> jobs_of_runs(const RocksEventLog& log, const std::vector<RemainingPlace>& places,
                                const std::filesystem::path& data) {
  std::set<RunId> runs;
  for (const RemainingPlace& each : places) {
    const auto run = each.position == 0 ? run_of_file(each.file, data) : std::nullopt;
    if (run) runs.insert(*run);
  }
  JobsOfRuns jobs;
  if (runs.empty()) return jobs;
  Stored<void> decoding;
  const auto visit = [&](const Frame& frame) {
    if (frame.stream != StreamKind::run || !runs.contains(header_of(frame).stream.run_id)) {
      return true;
    }
    Record record;
    decoding = decode_frame(frame, record);
    if (decoding) note_event(record, jobs);
    return decoding.has_value();
  };
  const Horizon horizon = log.horizon();
  std::vector<PositionRange> there = horizon.kept;
  there.push_back({horizon.position + 1, log.tail()});
  for (const PositionRange& range : there) {
    TRY(called(log.scan_frames(range.first, range.last, visit)));
    if (!decoding) return tl::unexpected(from_store_error(decoding.error()));
  }
  return jobs;
}

}  // namespace signalbox
