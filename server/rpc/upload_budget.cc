#include "server/rpc/upload_budget.h"

#include <algorithm>

#include "domain/nanoseconds.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

void UploadBudget::drop_settled(Uploads& uploads, const IsWanted& is_wanted,
                                std::int64_t monotonic_ns) {
  const std::int64_t old_ns = monotonic_ns - unnamed_artifact_ms_min * ns_per_ms;
  std::erase_if(uploads.contents, [&](const auto& each) {
    const Content& content = each.second;
    const bool is_over = !content.job_id.empty() && !is_wanted(content.job_id);
    if (!is_over && content.since_ns > old_ns) return false;
    uploads.bytes -= content.bytes;
    return true;
  });
}

std::uint64_t UploadBudget::bytes_of_job(const Uploads& uploads, const std::string& job_id) {
  std::uint64_t bytes = 0;
  for (const auto& [sha256, content] : uploads.contents) {
    if (content.job_id == job_id) bytes += content.bytes;
  }
  return bytes;
}

Decided<void> UploadBudget::charge(const Upload& upload, std::size_t jobs,
                                   const IsWanted& is_wanted, std::int64_t monotonic_ns) {
  const std::string& runner = upload.runner;
  Uploads& uploads = of_runners_[runner];
  const std::uint64_t counted = std::max(upload.bytes, runner_upload_bytes_min);
  const std::uint64_t bytes_max = jobs * runner_upload_bytes_max;
  const auto known_bytes = [&]() -> std::uint64_t {
    const auto known = uploads.contents.find(upload.sha256);
    return known == uploads.contents.end() ? 0 : known->second.bytes;
  };
  // What was announced as a small one is no reason to take a large one.
  if (known_bytes() >= counted) return {};
  // At the end of a job no more is released than one may upload.
  const auto is_too_much = [&] {
    const std::uint64_t more = counted - known_bytes();
    if (uploads.bytes + more > bytes_max) return true;
    return !upload.job_id.empty() && uploads.bytes + more > runner_upload_bytes_max &&
           bytes_of_job(uploads, upload.job_id) + more > runner_upload_bytes_max;
  };
  if (is_too_much()) drop_settled(uploads, is_wanted, monotonic_ns);
  if (is_too_much()) {
    return reject(ErrorCode::LIMIT_EXCEEDED,
                  runner + " has uploaded " + std::to_string(uploads.bytes) +
                      " bytes that no result names yet, and " + std::to_string(upload.bytes) +
                      " more are too many for its " + std::to_string(jobs) +
                      " jobs: let jobs leave less; if they don't, somebody else has its key",
                  {{"runner", runner},
                   {"runner_upload_bytes_max", static_cast<std::int64_t>(runner_upload_bytes_max)}},
                  {"signalbox runner get " + runner, "signalbox runner evict " + runner});
  }
  uploads.bytes += counted - known_bytes();
  uploads.contents.try_emplace(upload.sha256, Content{0, monotonic_ns, upload.job_id})
      .first->second.bytes = counted;
  return {};
}

void UploadBudget::release(const std::string& runner, const std::vector<Artifact>& named) {
  const auto uploads = of_runners_.find(runner);
  if (uploads == of_runners_.end()) return;
  for (const Artifact& artifact : named) {
    const auto content = uploads->second.contents.find(artifact.sha256);
    if (content == uploads->second.contents.end()) continue;
    uploads->second.bytes -= content->second.bytes;
    uploads->second.contents.erase(content);
  }
  if (uploads->second.contents.empty()) of_runners_.erase(uploads);
}

}  // namespace signalbox
