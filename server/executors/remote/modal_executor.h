// Executes jobs at an HTTPS endpoint (remote_endpoint.h), such as a web function on Modal.
//
// The directory <data>/jobs/<job id>/ has three files: `remote_submit`, written before the first
// request is sent; `remote_ref.json`, the call id, as soon as it is known; `remote_result.json`,
// the endpoint's result. So a later server only polls the job. It submits a job again only if the
// endpoint doesn't know it.
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/executors/executor.h"
#include "server/executors/remote/remote_endpoint.h"
#include "server/limits.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

struct ModalExecutorOptions {
  std::filesystem::path jobs_root;       // absolute: <data>/jobs
  std::vector<std::string> environment;  // the server's own, "NAME=VALUE"
  HttpTimeouts times = {};
  std::chrono::milliseconds backoff_min{1000};  // after an error; doubled for each further error
  std::chrono::milliseconds backoff_max{60'000};
  // How long a canceled job may take to end before its cancel counts as unconfirmed.
  std::chrono::milliseconds cancel_confirm_max{60'000};
  // How long the endpoint may refuse every question about a job before the job fails.
  std::chrono::milliseconds refused_max{limits::remote_refused_ms_max};
};

// Any thread.
class ModalExecutor final : public Executor {
 public:
  // `artifacts` must outlive this.
  ModalExecutor(ModalExecutorOptions options, ArtifactStore& artifacts);

  // Returns the endpoint's call id as the external ref.
  Executed<std::string> submit(const Job& job) override;
  Executed<JobState> poll(const Job& job) override;
  // Returns the call id that an earlier server saved if it was killed before the log had it.
  Executed<std::string> learned_ref(const Job& job) override;
  Executed<JobResult> fetch_result(const Job& job) override;
  Executed<void> cancel(const Job& job) override;
  // Always returns an empty list: a remote job has no processes on this machine.
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override;

 private:
  using Clock = std::chrono::steady_clock;

  // A job's request times, kept in memory: when to send the next request, since when it is being
  // canceled, and since when the endpoint has refused every question about it.
  struct RequestTiming {
    Clock::time_point not_before{};
    std::chrono::milliseconds backoff{0};
    std::optional<Clock::time_point> canceled_at;
    std::optional<Clock::time_point> refused_since;
  };

  [[nodiscard]] std::filesystem::path directory_of(const Job& job) const;
  // Returns the call id from the log or from the job's directory; empty if neither has one.
  [[nodiscard]] Executed<std::string> known_call_id(const Job& job) const;
  // Like known_call_id(), but asks the endpoint if a submit began whose end isn't known.
  Executed<std::string> find_call_id(const Job& job);
  Executed<void> save_call_id(const Job& job, const std::string& call_id) const;
  Executed<std::string> submit_once(const Job& job);
  Executed<JobState> apply_state(const Job& job, const RemoteState& state);
  // Fails the job if the endpoint has refused every question about it for refused_max and it isn't
  // being canceled; otherwise returns the error of the latest one.
  Executed<JobState> end_if_refused(const Job& job, const ExecutorError& error);
  // Saves the job's result for fetch_result() of this and later servers.
  Executed<JobState> finish(const Job& job, const std::string& result);
  // Delays the job's next request by the backoff and returns the error.
  tl::unexpected<ExecutorError> delay_next_request(const Job& job, const RemoteError& error);
  RequestTiming timing_of(const Job& job);
  // Returns until when an answer about a job is waited for, as CallBounds has it: one that is being
  // canceled ends unconfirmed after cancel_confirm_max.
  [[nodiscard]] std::int64_t answer_by_ms(const RequestTiming& timing) const;
  RequestTiming& timing_in(const Job& job);  // requires mutex_

  ModalExecutorOptions options_;
  ArtifactStore& artifacts_;
  RemoteEndpoint endpoint_;
  std::mutex mutex_;
  std::unordered_map<std::string, RequestTiming> timings_;  // by job id
};

}  // namespace signalbox
