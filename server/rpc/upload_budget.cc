#include "server/rpc/upload_budget.h"

#include <algorithm>

#include "domain/nanoseconds.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

void UploadBudget::drop_old(Uploads& uploads, std::int64_t monotonic_ns) {
  const std::int64_t old_ns = monotonic_ns - unnamed_artifact_ms_min * ns_per_ms;
  std::erase_if(uploads.contents, [&](const auto& each) {
    if (each.second.since_ns > old_ns) return false;
    uploads.bytes -= each.second.bytes;
    return true;
  });
}

Decided<void> UploadBudget::charge(const std::string& runner, const Digest& sha256,
                                   std::uint64_t bytes, std::size_t jobs,
                                   std::int64_t monotonic_ns) {
  Uploads& uploads = of_runners_[runner];
  const std::uint64_t counted = std::max(bytes, runner_upload_bytes_min);
  const std::uint64_t bytes_max = jobs * runner_upload_bytes_max;
  const auto known_bytes = [&]() -> std::uint64_t {
    const auto known = uploads.contents.find(sha256);
    return known == uploads.contents.end() ? 0 : known->second.bytes;
  };
  // What was announced as a small one is no reason to take a large one.
  if (known_bytes() >= counted) return {};
  const auto is_too_much = [&] { return uploads.bytes + counted - known_bytes() > bytes_max; };
  if (is_too_much()) drop_old(uploads, monotonic_ns);
  if (is_too_much()) {
    return reject(ErrorCode::LIMIT_EXCEEDED,
                  runner + " has uploaded " + std::to_string(uploads.bytes) +
                      " bytes that no result names yet, and " + std::to_string(bytes) +
                      " more are too many for its " + std::to_string(jobs) +
                      " jobs: let jobs leave less; if they don't, somebody else has its key",
                  {{"runner", runner},
                   {"runner_upload_bytes_max", static_cast<std::int64_t>(runner_upload_bytes_max)}},
                  {"signalbox runner get " + runner, "signalbox runner evict " + runner});
  }
  uploads.bytes += counted - known_bytes();
  uploads.contents.try_emplace(sha256, Content{0, monotonic_ns}).first->second.bytes = counted;
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
