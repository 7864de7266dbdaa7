// Reads on in the logs of running jobs: what each has printed since the last look, as text.
//
// It is the disk's side of agent_logs.h: nothing here is done unless somebody follows a log.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "domain/ids.h"

namespace signalbox {

// The job of a run's attempt under way.
struct FollowedJob {
  std::string job_id;
  RunId run_id{};
  Uuid span_id{};
};

struct LogExcerpt {
  FollowedJob job;
  std::string_view stream;   // "stdout" or "stderr"
  std::uint64_t offset = 0;  // in the stream, in bytes
  std::uint64_t bytes = 0;   // of the stream that `text` shows
  std::string text;          // UTF-8; whole lines, where there are any
};

// Any thread; calls come one after the other.
class AgentLogReader {
 public:
  // Is given the excerpts in the order of their streams, before another call goes on.
  using Deliver = std::function<void(std::vector<LogExcerpt> excerpts)>;

  // `jobs` is the directory of the jobs' directories.
  AgentLogReader(std::filesystem::path jobs, Deliver deliver)
      : jobs_(std::move(jobs)), deliver_(std::move(deliver)) {}

  // What is new of these; of one that wasn't among those of the last look, its newest part.
  // Others are forgotten.
  void look(const std::vector<FollowedJob>& followed);
  // What looks have passed of these most recently, for somebody who begins to follow now.
  // `deliver` instead of the one for all; called once, also with nothing.
  void look_back(const std::vector<FollowedJob>& followed, const Deliver& deliver);
  // The job has ended: what it printed last. Does nothing while nobody follows any.
  void finish(const FollowedJob& job);
  // Nobody follows any log.
  void rest();

 private:
  struct Stream {
    std::string_view name;
    std::uint64_t next = 0;  // byte to be told
    std::uint64_t seen = 0;  // length at the last look
  };
  using Streams = std::vector<Stream>;

  void read_job(const FollowedJob& job, Streams& streams, bool ended,
                std::vector<LogExcerpt>& excerpts);
  [[nodiscard]] std::filesystem::path log_of(const FollowedJob& job, const Stream& stream) const;

  const std::filesystem::path jobs_;
  const Deliver deliver_;
  std::atomic<bool> active_ = false;
  std::mutex mutex_;
  std::map<std::string, Streams> followed_;  // by job id
  std::set<std::string> ended_;              // until a look comes without them
  std::string turn_;                         // the job that is first at the next look
};

}  // namespace signalbox
