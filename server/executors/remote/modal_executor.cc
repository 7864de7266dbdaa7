#include "server/executors/remote/modal_executor.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "domain/check.h"
#include "domain/try.h"
#include "server/executors/remote/remote_result.h"
#include "server/platform/atomic_file.h"
#include "server/platform/call_bounds.h"
#include "server/platform/stored_json.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

struct RemoteRef {
  std::string schema = "remote_ref.v1";
  std::string call_id;
};
BOOST_DESCRIBE_STRUCT(RemoteRef, (), (schema, call_id))

// The submit that a cancel has interrupted may have arrived, and be what the endpoint is about to
// record.
RemoteError not_known_yet() {
  return {{ErrorClass::transient, "REMOTE_CALL_UNKNOWN",
           "the endpoint doesn't know the job, whose submit may have reached it"},
          std::nullopt,
          true};
}

bool file_exists(const std::filesystem::path& path) { return ::access(path.c_str(), F_OK) == 0; }

// Acquires the lock that is held while one job is submitted. Another thread or server waits for it
// and then finds the call id.
Executed<FileDescriptor> lock_submit(const std::filesystem::path& path) {
  FileDescriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file) return storage_error(system_error("create", path));
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return storage_error(system_error("lock", path));
  }
  return file;
}

}  // namespace

ModalExecutor::ModalExecutor(ModalExecutorOptions options, ArtifactStore& artifacts)
    : options_(std::move(options)),
      artifacts_(artifacts),
      endpoint_(options_.environment, options_.times) {
  SIGNALBOX_CHECK(options_.jobs_root.is_absolute());
}

std::filesystem::path ModalExecutor::directory_of(const Job& job) const {
  SIGNALBOX_CHECK(!job.id.empty() && job.id.front() != '.');
  SIGNALBOX_CHECK(job.id.find('/') == std::string::npos);
  return options_.jobs_root / job.id;
}

ModalExecutor::RequestTiming ModalExecutor::timing_of(const Job& job) {
  const std::lock_guard lock(mutex_);
  const auto place = timings_.find(job.id);
  return place == timings_.end() ? RequestTiming{} : place->second;
}

ModalExecutor::RequestTiming& ModalExecutor::timing_in(const Job& job) { return timings_[job.id]; }

tl::unexpected<ExecutorError> ModalExecutor::delay_next_request(const Job& job,
                                                                const RemoteError& error) {
  const std::lock_guard lock(mutex_);
  RequestTiming& timing = timing_in(job);
  timing.backoff = std::clamp(timing.backoff * 2, options_.backoff_min, options_.backoff_max);
  const std::chrono::milliseconds asked(error.retry_after_ms.value_or(0));
  timing.not_before =
      Clock::now() + std::max(timing.backoff, std::min(asked, options_.backoff_max));
  return tl::unexpected(error.error);
}

Executed<std::string> ModalExecutor::known_call_id(const Job& job) const {
  if (!job.external_ref.empty()) return job.external_ref;
  const auto ref = read_stored_json<RemoteRef>(directory_of(job) / "remote_ref.json");
  if (ref) return ref->call_id;
  if (ref.error().kind == StoreError::Kind::not_found) return std::string();
  return storage_error(ref.error());
}

Executed<void> ModalExecutor::save_call_id(const Job& job, const std::string& call_id) const {
  RemoteRef ref;
  ref.call_id = call_id;
  const auto written = write_stored_json(directory_of(job) / "remote_ref.json", ref);
  if (!written) return storage_error(written.error());
  return {};
}

std::int64_t ModalExecutor::answer_by_ms(const RequestTiming& timing) const {
  if (!timing.canceled_at) return CallBounds::never_ms;
  const auto left = *timing.canceled_at + options_.cancel_confirm_max - Clock::now();
  return CallBounds::now_ms() + std::chrono::ceil<std::chrono::milliseconds>(left).count();
}

Executed<std::string> ModalExecutor::find_call_id(const Job& job) {
  auto known = known_call_id(job);
  if (!known || !known->empty() || !file_exists(directory_of(job) / "remote_submit")) return known;
  const auto found = endpoint_.find_call(job);
  if (!found) return delay_next_request(job, found.error());
  if (!*found) return std::string();
  TRY(save_call_id(job, **found));
  return **found;
}

Executed<std::string> ModalExecutor::submit(const Job& job) {
  TRY(endpoint_.configured());
  const std::filesystem::path directory = directory_of(job);
  if (auto made = make_directories(directory); !made) return storage_error(made.error());
  const auto lock = TRY(lock_submit(directory / "remote_submit.lock"));
  auto known = find_call_id(job);
  if (!known || !known->empty()) return known;
  return submit_once(job);
}

Executed<std::string> ModalExecutor::submit_once(const Job& job) {
  const std::filesystem::path marker = directory_of(job) / "remote_submit";
  if (auto begun = write_file_atomically(marker, job.id + "\n"); !begun) {
    return storage_error(begun.error());
  }
  const auto call_id = endpoint_.submit(job);
  if (!call_id) {
    // The endpoint received nothing, so there will be nothing to look up.
    if (!call_id.error().may_have_arrived) ::unlink(marker.c_str());
    return delay_next_request(job, call_id.error());
  }
  TRY(save_call_id(job, *call_id));
  const std::lock_guard lock(mutex_);
  timing_in(job).backoff = {};
  return *call_id;
}

Executed<JobState> ModalExecutor::poll(const Job& job) {
  if (file_exists(directory_of(job) / "remote_result.json")) return JobState::finished;
  const RequestTiming timing = timing_of(job);
  const bool cancel_timed_out =
      timing.canceled_at && Clock::now() - *timing.canceled_at > options_.cancel_confirm_max;
  const auto known = TRY(known_call_id(job));
  if (cancel_timed_out) return finish(job, canceled_remote_result(known, true));
  if (Clock::now() < timing.not_before) return JobState::running;
  const CallBounds bounds(answer_by_ms(timing));
  if (!known.empty()) {
    const auto state = endpoint_.ask(job, known);
    if (state) return apply_state(job, *state);
    const tl::unexpected<ExecutorError> error = delay_next_request(job, state.error());
    return end_if_refused(job, error.value());
  }
  // The fate of an interrupted submit is looked up here, where it may take any number of polls.
  // submit() then returns the call id that was found.
  if (!timing.canceled_at) {
    const auto found = find_call_id(job);
    if (!found) return end_if_refused(job, found.error());
  }
  return JobState::absent;
}

Executed<JobState> ModalExecutor::end_if_refused(const Job& job, const ExecutorError& error) {
  const bool is_refusal =
      error.error_class == ErrorClass::config || error.error_class == ErrorClass::terminal;
  {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    RequestTiming& timing = timing_in(job);
    if (!is_refusal) {
      timing.refused_since.reset();
    } else if (!timing.refused_since) {
      timing.refused_since = now;
    }
    // A job that is being canceled ends when the endpoint says so, or unconfirmed (poll()).
    if (!is_refusal || timing.canceled_at || now - *timing.refused_since <= options_.refused_max) {
      return tl::unexpected(error);
    }
  }
  return finish(job, refused_remote_result(error));
}

Executed<std::string> ModalExecutor::learned_ref(const Job& job) {
  return job.external_ref.empty() ? known_call_id(job) : std::string();
}

Executed<JobState> ModalExecutor::apply_state(const Job& job, const RemoteState& state) {
  switch (state.kind) {
    case RemoteState::Kind::running: {
      const std::lock_guard lock(mutex_);
      RequestTiming& timing = timing_in(job);
      timing.backoff = {};
      timing.refused_since.reset();
      timing.not_before = Clock::now() + std::chrono::milliseconds(job.definition.modal->poll_ms);
      return JobState::running;
    }
    case RemoteState::Kind::finished:
      return finish(job, state.result);
    case RemoteState::Kind::gone:
      if (timing_of(job).canceled_at) return finish(job, canceled_remote_result({}, false));
      return JobState::lost;
  }
  return JobState::running;
}

Executed<JobState> ModalExecutor::finish(const Job& job, const std::string& result) {
  const std::filesystem::path directory = directory_of(job);
  if (auto made = make_directories(directory); !made) return storage_error(made.error());
  const auto kept = write_file_atomically(directory / "remote_result.json", result);
  if (!kept) return storage_error(kept.error());
  const std::lock_guard lock(mutex_);
  timings_.erase(job.id);
  return JobState::finished;
}

Executed<JobResult> ModalExecutor::fetch_result(const Job& job) {
  const auto text =
      read_regular_file(directory_of(job) / "remote_result.json", http_body_bytes_max);
  if (!text) return storage_error(text.error());
  const auto call_id = TRY(known_call_id(job));
  auto result = report_remote_job(job, call_id, *text, artifacts_);
  if (!result) return storage_error(result.error());
  return std::move(*result);
}

Executed<void> ModalExecutor::cancel(const Job& job) {
  if (file_exists(directory_of(job) / "remote_result.json")) return {};
  {
    const std::lock_guard lock(mutex_);
    RequestTiming& timing = timing_in(job);
    if (!timing.canceled_at) timing.canceled_at = Clock::now();
    // Cancels are sent until cancel_confirm_max has passed; then poll() ends the job as
    // unconfirmed.
    if (Clock::now() - *timing.canceled_at > options_.cancel_confirm_max) return {};
    timing.not_before = {};
  }
  const CallBounds bounds(answer_by_ms(timing_of(job)));
  const auto call_id = TRY(find_call_id(job));
  if (call_id.empty()) {
    if (!file_exists(directory_of(job) / "remote_submit")) return {};  // never submitted
    return delay_next_request(job, not_known_yet());
  }
  const auto known = endpoint_.cancel(job, call_id);
  if (!known) return delay_next_request(job, known.error());
  if (*known) return {};
  TRY(finish(job, canceled_remote_result(call_id, false)));
  return {};
}

Executed<std::vector<std::int32_t>> ModalExecutor::clean_up_lost(const Job& job) {
  const std::lock_guard lock(mutex_);
  timings_.erase(job.id);
  return std::vector<std::int32_t>{};
}

}  // namespace signalbox
