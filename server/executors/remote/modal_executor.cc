#include "server/executors/remote/modal_executor.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "domain/check.h"
#include "domain/try.h"
#include "server/executors/remote/remote_result.h"
#include "server/platform/atomic_file.h"
#include "server/platform/stored_json.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

struct RemoteRef {
  std::string schema = "remote_ref.v1";
  std::string call_id;
};
BOOST_DESCRIBE_STRUCT(RemoteRef, (), (schema, call_id))

bool is_file_there(const std::filesystem::path& path) { return ::access(path.c_str(), F_OK) == 0; }

// Held while one job is submitted: another thread or server waits, and then finds the call id.
Executed<FileDescriptor> lock_submit(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
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

ModalExecutor::Pace ModalExecutor::pace_of(const Job& job) {
  const std::lock_guard lock(mutex_);
  const auto place = paces_.find(job.id);
  return place == paces_.end() ? Pace{} : place->second;
}

ModalExecutor::Pace& ModalExecutor::pace_in(const Job& job) { return paces_[job.id]; }

tl::unexpected<ExecutorError> ModalExecutor::put_off(const Job& job, const RemoteError& error) {
  const std::lock_guard lock(mutex_);
  Pace& pace = pace_in(job);
  pace.backoff = std::clamp(pace.backoff * 2, options_.backoff_min, options_.backoff_max);
  const std::chrono::milliseconds asked(error.retry_after_ms.value_or(0));
  pace.not_before = Clock::now() + std::max(pace.backoff, std::min(asked, options_.backoff_max));
  return tl::unexpected(error.error);
}

Executed<std::string> ModalExecutor::known_call_id(const Job& job) const {
  if (!job.external_ref.empty()) return job.external_ref;
  const auto ref = read_stored_json<RemoteRef>(directory_of(job) / "remote_ref.json");
  if (ref) return ref->call_id;
  if (ref.error().kind == StoreError::Kind::not_found) return std::string();
  return storage_error(ref.error());
}

Executed<void> ModalExecutor::keep_call_id(const Job& job, const std::string& call_id) const {
  RemoteRef ref;
  ref.call_id = call_id;
  const auto written = write_stored_json(directory_of(job) / "remote_ref.json", ref);
  if (!written) return storage_error(written.error());
  return {};
}

Executed<std::string> ModalExecutor::find_call_id(const Job& job) {
  auto known = known_call_id(job);
  if (!known || !known->empty() || !is_file_there(directory_of(job) / "remote_submit"))
    return known;
  const auto found = endpoint_.look_up(job);
  if (!found) return put_off(job, found.error());
  if (!*found) return std::string();
  TRY(keep_call_id(job, **found));
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
    // Then there is nothing to look up.
    if (!call_id.error().may_have_arrived) ::unlink(marker.c_str());
    return put_off(job, call_id.error());
  }
  TRY(keep_call_id(job, *call_id));
  const std::lock_guard lock(mutex_);
  pace_in(job).backoff = {};
  return *call_id;
}

Executed<JobState> ModalExecutor::poll(const Job& job) {
  if (is_file_there(directory_of(job) / "remote_result.json")) return JobState::finished;
  const Pace pace = pace_of(job);
  const bool given_up =
      pace.canceled_at && Clock::now() - *pace.canceled_at > options_.cancel_confirm_max;
  const auto known = TRY(known_call_id(job));
  if (given_up) return finish(job, canceled_remote_result(known, true));
  if (Clock::now() < pace.not_before) return JobState::running;
  if (!known.empty()) {
    const auto state = endpoint_.ask(job, known);
    return state ? take_answer(job, *state) : put_off(job, state.error());
  }
  // What became of a submit without an end is asked here, where that may take any number of tries;
  // submit() then gives the call id that was found.
  if (!pace.canceled_at) {
    TRY(find_call_id(job));
  }
  return JobState::absent;
}

Executed<std::string> ModalExecutor::learned_ref(const Job& job) {
  return job.external_ref.empty() ? known_call_id(job) : std::string();
}

Executed<JobState> ModalExecutor::take_answer(const Job& job, const RemoteState& state) {
  switch (state.kind) {
    case RemoteState::Kind::running: {
      const std::lock_guard lock(mutex_);
      Pace& pace = pace_in(job);
      pace.backoff = {};
      pace.not_before = Clock::now() + std::chrono::milliseconds(job.definition.modal->poll_ms);
      return JobState::running;
    }
    case RemoteState::Kind::finished:
      return finish(job, state.result);
    case RemoteState::Kind::gone:
      if (pace_of(job).canceled_at) return finish(job, canceled_remote_result({}, false));
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
  paces_.erase(job.id);
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
  if (is_file_there(directory_of(job) / "remote_result.json")) return {};
  {
    const std::lock_guard lock(mutex_);
    Pace& pace = pace_in(job);
    if (!pace.canceled_at) pace.canceled_at = Clock::now();
    // An endpoint that can't be reached is asked for long enough; then poll() gives the job up.
    if (Clock::now() - *pace.canceled_at > options_.cancel_confirm_max) return {};
    pace.not_before = {};
  }
  const auto call_id = TRY(find_call_id(job));
  if (call_id.empty()) return {};  // never submitted
  const auto known = endpoint_.cancel(job, call_id);
  if (!known) return put_off(job, known.error());
  if (*known) return {};
  TRY(finish(job, canceled_remote_result(call_id, false)));
  return {};
}

Executed<std::vector<std::int32_t>> ModalExecutor::clean_up_lost(const Job& job) {
  const std::lock_guard lock(mutex_);
  paces_.erase(job.id);
  return std::vector<std::int32_t>{};
}

}  // namespace signalbox
