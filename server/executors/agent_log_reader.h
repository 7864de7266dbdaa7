// Reads the logs of running jobs incrementally: each read returns what a job has printed since the
// previous read, as text.
//
// It is the disk part of agent_logs.h and reads nothing unless a client follows a log.
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

// A job whose log is followed; it belongs to the current attempt of a run's station.
struct FollowedJob {
  std::string job_id;
  RunId run_id{};
  Uuid span_id{};
};

// A consecutive part of one stream of a job.
struct LogExcerpt {
  FollowedJob job;
  std::string_view stream;   // "stdout" or "stderr"
  std::uint64_t offset = 0;  // of the first byte in the stream
  std::uint64_t bytes = 0;   // length of the part in the stream, in bytes
  std::string text;          // UTF-8; whole lines, if the part has any
};

// Any thread; a mutex serializes the calls. They block on the disk.
class AgentLogReader {
 public:
  // Receives the excerpts in the order of their streams. Called while the reader's mutex is held,
  // so before any other call proceeds.
  using Deliver = std::function<void(std::vector<LogExcerpt> excerpts)>;

  // `jobs` contains the jobs' directories. `deliver` receives what look() and finish() read.
  AgentLogReader(std::filesystem::path jobs, Deliver deliver)
      : jobs_(std::move(jobs)), deliver_(std::move(deliver)) {}

  // Delivers what these jobs have printed since the previous look(). For a job that wasn't in the
  // previous look(), delivers the newest part. Other jobs are forgotten.
  void look(const std::vector<FollowedJob>& followed);
  // Delivers to `deliver` what earlier calls of look() delivered most recently for these jobs, for
  // a client that begins to follow them now. Calls `deliver` exactly once, also with no excerpts.
  void replay_recent(const std::vector<FollowedJob>& followed, const Deliver& deliver);
  // Delivers the last output of a job that has ended. Does nothing while no log is followed.
  void finish(const FollowedJob& job);
  // Forgets all jobs, because no client follows a log any more.
  void rest();

 private:
  struct Stream {
    std::string_view name;
    std::uint64_t next = 0;  // offset of the next byte to deliver
    std::uint64_t seen = 0;  // the stream's length at the previous look()
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
  std::set<std::string> ended_;  // ids of ended jobs, until a look() doesn't name them any more
  std::string resume_at_;        // id of the job that the next look() reads first
};

}  // namespace signalbox
