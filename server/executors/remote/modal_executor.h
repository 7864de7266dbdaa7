// Jobs at an HTTPS endpoint (remote_endpoint.h), such as a web function on Modal.
//
// Of a job, <data>/jobs/<job id>/ keeps: `remote_submit`, before the first request is sent;
// `remote_ref.json`, the call id, as soon as it is known; `remote_result.json`, what the endpoint
// gave in the end. So a later server only asks how the job is; it submits one again only where the
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
#include "server/platform/artifact_store.h"

namespace signalbox {

struct ModalExecutorOptions {
  std::filesystem::path jobs_root;       // absolute: <data>/jobs
  std::vector<std::string> environment;  // the server's own, "NAME=VALUE"
  HttpTimes times = {};
  std::chrono::milliseconds backoff_min{1000};  // after an error; doubled for each further one
  std::chrono::milliseconds backoff_max{60'000};
  // How long a canceled job may go on before it is given up as unconfirmed.
  std::chrono::milliseconds cancel_confirm_max{60'000};
};

// Any number of threads.
class ModalExecutor final : public Executor {
 public:
  // `artifacts` must outlive this.
  ModalExecutor(ModalExecutorOptions options, ArtifactStore& artifacts);

  // The external ref is the endpoint's call id.
  Executed<std::string> submit(const Job& job) override;
  Executed<JobState> poll(const Job& job) override;
  // The call id that an earlier server kept, where it was killed before the log knew it.
  Executed<std::string> learned_ref(const Job& job) override;
  Executed<JobResult> fetch_result(const Job& job) override;
  Executed<void> cancel(const Job& job) override;
  // There is nothing of it here.
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override;

 private:
  using Clock = std::chrono::steady_clock;

  // What this process remembers of a job: when to ask next, since when it is being canceled.
  struct Pace {
    Clock::time_point not_before{};
    std::chrono::milliseconds backoff{0};
    std::optional<Clock::time_point> canceled_at;
  };

  [[nodiscard]] std::filesystem::path directory_of(const Job& job) const;
  // The call id that is known here: of the log, or of the job's directory; or empty.
  [[nodiscard]] Executed<std::string> known_call_id(const Job& job) const;
  // As known_call_id; where a submit began whose end isn't known, asks the endpoint.
  Executed<std::string> find_call_id(const Job& job);
  Executed<void> keep_call_id(const Job& job, const std::string& call_id) const;
  Executed<std::string> submit_once(const Job& job);
  Executed<JobState> take_answer(const Job& job, const RemoteState& state);
  // Keeps what the job gave, for fetch_result() of this and later servers.
  Executed<JobState> finish(const Job& job, const std::string& result);
  // Puts the job's next request off and gives the error.
  tl::unexpected<ExecutorError> put_off(const Job& job, const RemoteError& error);
  Pace pace_of(const Job& job);
  Pace& pace_in(const Job& job);  // under mutex_

  ModalExecutorOptions options_;
  ArtifactStore& artifacts_;
  RemoteEndpoint endpoint_;
  std::mutex mutex_;
  std::unordered_map<std::string, Pace> paces_;  // by job id
};

}  // namespace signalbox
