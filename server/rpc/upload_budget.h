// How much of a store runners may fill. What a runner uploads isn't named by an event before the
// result of its job is taken, so without a bound whoever has stolen the key of a runner with a job
// could put content there without end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "domain/error.h"
#include "domain/ids.h"
#include "domain/station_events.h"

namespace signalbox {

// What a runner may have uploaded for each job that it has, before a result names it: twice what is
// collected of a job (collected_bytes_max), since an attempt before may have left as much.
inline constexpr std::uint64_t runner_upload_bytes_max = 512 * 1024 * 1024;
// What content counts for at least: many small ones cost a store, and this memory.
inline constexpr std::uint64_t runner_upload_bytes_min = 64 * 1024;

// The engine's thread only. It is memory: after a restart everybody begins anew.
class UploadBudget {
 public:
  struct Upload {
    std::string runner;
    std::string job_id;  // empty: the runner doesn't say
    Digest sha256{};
    std::uint64_t bytes = 0;
  };
  using IsWanted = std::function<bool(const std::string& job_id)>;

  // Counts content that a runner begins to upload, once, or again after unnamed_artifact_ms_min,
  // when the file retention may have removed it. LIMIT_EXCEEDED if the runner, which has `jobs`
  // jobs, or the job would have uploaded more than it may. What was uploaded for a job that isn't
  // wanted any more counts no longer: no result of it is going to name it.
  Decided<void> charge(const Upload& upload, std::size_t jobs, const IsWanted& is_wanted,
                       std::int64_t monotonic_ns);
  // Counts no longer what a result that was taken names.
  void release(const std::string& runner, const std::vector<Artifact>& named);

 private:
  struct Content {
    std::uint64_t bytes = 0;
    std::int64_t since_ns = 0;  // monotonic
    std::string job_id;
  };
  struct Uploads {
    std::map<Digest, Content> contents;
    std::uint64_t bytes = 0;
  };

  static void drop_settled(Uploads& uploads, const IsWanted& is_wanted, std::int64_t monotonic_ns);
  static std::uint64_t bytes_of_job(const Uploads& uploads, const std::string& job_id);

  std::map<std::string, Uploads> of_runners_;
};

}  // namespace signalbox
