#include "server/executors/agent_log_reader.h"

#include <algorithm>
#include <utility>

#include "server/executors/bounded_log.h"
#include "server/limits.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

// Returns the number of bytes (at most three) at the end of `bytes` that may be the beginning of a
// character.
std::size_t incomplete_character_bytes(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if (is_utf8_continuation(bytes[bytes.size() - back])) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

// Drops the rest of a line after a gap: the part then begins with the next line or, if there is
// none, with the next character.
void begin_after_gap(LogPart& part) {
  std::size_t cut = part.bytes.find('\n');
  cut = cut != std::string::npos && cut + 1 < part.bytes.size() ? cut + 1 : 0;
  while (cut < part.bytes.size() && is_utf8_continuation(part.bytes[cut])) ++cut;
  part.bytes.erase(0, cut);
  part.offset += cut;
}

// Returns how many bytes can be delivered now. An unfinished line waits unless it has stopped
// growing since the previous look or is as long as an excerpt.
std::size_t deliverable_bytes(const LogPart& part, bool growing) {
  const std::size_t line_end = part.bytes.rfind('\n');
  if (line_end != std::string::npos) return line_end + 1;
  if (growing && part.bytes.size() < limits::agent_log_excerpt_bytes_max) return 0;
  return part.bytes.size() - incomplete_character_bytes(part.bytes);
}

}  // namespace

std::filesystem::path AgentLogReader::log_of(const FollowedJob& job, const Stream& stream) const {
  return jobs_ / job.job_id / (std::string(stream.name) + ".log");
}

void AgentLogReader::read_job(const FollowedJob& job, Streams& streams, bool ended,
                              std::vector<LogExcerpt>& excerpts) {
  if (streams.empty()) streams = {{"stdout"}, {"stderr"}};
  for (Stream& stream : streams) {
    auto part =
        read_log_after(log_of(job, stream), stream.next, limits::agent_log_excerpt_bytes_max);
    if (!part || part->bytes.empty()) continue;  // unreadable streams are skipped
    const bool growing = part->end != std::exchange(stream.seen, part->end);
    if (part->offset > stream.next) begin_after_gap(*part);
    const std::size_t delivered = ended ? part->bytes.size() : deliverable_bytes(*part, growing);
    if (delivered == 0) continue;
    stream.next = part->offset + delivered;
    excerpts.push_back({job, stream.name, part->offset, delivered,
                        with_replacements(std::string_view(part->bytes).substr(0, delivered))});
  }
}

void AgentLogReader::look(const std::vector<FollowedJob>& followed) {
  const std::lock_guard lock(mutex_);
  active_ = true;
  std::map<std::string, Streams> before = std::exchange(followed_, {});
  const std::set<std::string> ended = std::exchange(ended_, {});
  std::map<std::string_view, const FollowedJob*> by_id;
  for (const FollowedJob& job : followed) {
    // The caller didn't know of the job's end yet.
    if (ended.contains(job.job_id)) {
      ended_.insert(job.job_id);
      continue;
    }
    followed_[job.job_id] = std::move(before[job.job_id]);
    by_id.emplace(job.job_id, &job);
  }
  // Round-robin, beginning with the job that was left out last time.
  std::vector<LogExcerpt> excerpts;
  std::size_t bytes = 0;
  auto next = by_id.lower_bound(resume_at_);
  for (std::size_t count = 0; count < by_id.size(); ++count) {
    if (next == by_id.end()) next = by_id.begin();
    if (bytes >= limits::agent_log_look_bytes_max) {
      resume_at_ = next->first;
      break;
    }
    const std::size_t first = excerpts.size();
    read_job(*next->second, followed_[next->second->job_id], false, excerpts);
    for (std::size_t index = first; index < excerpts.size(); ++index)
      bytes += excerpts[index].bytes;
    ++next;
  }
  if (!excerpts.empty()) deliver_(std::move(excerpts));
}

void AgentLogReader::replay_recent(const std::vector<FollowedJob>& followed,
                                   const Deliver& deliver) {
  const std::lock_guard lock(mutex_);
  active_ = true;
  std::vector<LogExcerpt> excerpts;
  for (const FollowedJob& job : followed) {
    const auto place = followed_.find(job.job_id);
    if (place == followed_.end()) continue;  // the next look() begins with its newest part
    std::size_t bytes = 0;
    for (const LogExcerpt& each : excerpts) bytes += each.bytes;
    if (bytes >= limits::agent_log_look_bytes_max) break;
    for (const Stream& stream : place->second) {
      const std::uint64_t back = limits::agent_log_excerpt_bytes_max;
      auto part = read_log_after(log_of(job, stream), stream.next - std::min(stream.next, back),
                                 2 * limits::agent_log_excerpt_bytes_max);
      if (!part || part->offset >= stream.next) continue;
      part->bytes.resize(std::min<std::size_t>(part->bytes.size(), stream.next - part->offset));
      if (part->offset > 0) begin_after_gap(*part);
      if (part->bytes.empty()) continue;
      excerpts.push_back(
          {job, stream.name, part->offset, part->bytes.size(), with_replacements(part->bytes)});
    }
  }
  deliver(std::move(excerpts));
}

void AgentLogReader::finish(const FollowedJob& job) {
  if (!active_) return;
  const std::lock_guard lock(mutex_);
  Streams streams;
  if (const auto place = followed_.find(job.job_id); place != followed_.end()) {
    streams = std::move(place->second);
    followed_.erase(place);
  }
  ended_.insert(job.job_id);
  std::vector<LogExcerpt> excerpts;
  read_job(job, streams, true, excerpts);
  if (!excerpts.empty()) deliver_(std::move(excerpts));
}

void AgentLogReader::rest() {
  const std::lock_guard lock(mutex_);
  active_ = false;
  followed_.clear();
  ended_.clear();
}

}  // namespace signalbox
