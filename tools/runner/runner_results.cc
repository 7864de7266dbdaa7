// What a runner sends of the jobs that it has executed: their results, and what they have printed.
#include <string>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/executors/bounded_log.h"
#include "server/executors/job_directory.h"
#include "server/executors/job_report.h"
#include "server/limits.h"
#include "server/text/described_json.h"
#include "server/text/utf8_text.h"
#include "store/base64.h"
#include "tools/cli/json_fields.h"
#include "tools/runner/runner_link.h"

namespace signalbox {
namespace {

constexpr const char* output_streams[] = {"stderr", "stdout"};

// Returns whether the result will never be taken as it is: the service refuses what it says, or an
// artifact of it is gone.
bool is_about_the_result(const CallError& error) {
  const std::string code = code_of(error);
  return code == "INVALID_PARAMS" || code == "LIMIT_EXCEEDED" || code == ArtifactUploads::gone_code;
}

}  // namespace

Called<bool> RunnerLink::finish(const EndedJob& job, const JobResult& result) {
  const auto said = TRY(results_.call("runner.finish", {{"runner", work_.identity().runner},
                                                        {"key", work_.identity().key},
                                                        {"job_id", job.job_id},
                                                        {"external_ref", job.external_ref},
                                                        {"result", to_json(result)}}));
  const bool taken = true_at(said, "taken");
  const std::string usage = text_at(said, "usage");
  if (!taken && !job.is_unwanted) {
    log_(/*ok=*/true, "the service doesn't take the result of the job " + job.job_id +
                          ": it has it already, or has ended the job's attempt before");
  }
  if (usage == "recorded")
    log_(/*ok=*/true, "what the job " + job.job_id + " has used up is recorded");
  if (usage == "unknown") {
    log_(/*ok=*/false,
         "what the job " + job.job_id +
             " has used up isn't recorded: the service knows nothing of its attempt, or no more");
  }
  return taken;
}

Called<bool> RunnerLink::send_result(const EndedJob& job) {
  if (job.is_unwanted) {
    JobResult unwanted;
    unwanted.usage = job.result.usage;
    unwanted.failure = {Outcome::failed, ErrorClass::lost, "JOB_LOST", "its runner forgot it"};
    return finish(job, unwanted);
  }
  JobResult result = job.result;
  uploading_job_ = job.job_id;
  result.result.artifacts = TRY(uploads_.upload(result.result.artifacts, wants_bundles()));
  for (const char* stream : output_streams) {
    const auto sent = send_output(results_, job.job_id, stream, false);
    // Output that isn't taken holds up no result. But of a cell another server may take the result
    // by now, which hasn't got the uploads and would refuse it for good: all of it is sent anew.
    if (!sent && (sent.error().exit_code == ExitCode::unreachable ||
                  sent.error().exit_code == ExitCode::try_again)) {
      return tl::unexpected(sent.error());
    }
    if (sent) continue;
    const std::string why = std::string(stream) + " isn't sent: " + message_of(sent.error());
    log_(false, "part of the output of job " + job.job_id + " is lost: " + why);
    note_lost_output(result, why);
  }
  return finish(job, result);
}

Called<void> RunnerLink::send_output(Line& line, const std::string& job_id,
                                     const std::string& stream, bool is_newest) {
  const JobDirectory job{work_.jobs() / job_id};
  const auto sent_before = [&] {
    const std::lock_guard lock(mutex_);
    return outputs_sent_[job_id][stream];
  };
  std::uint64_t offset = sent_before();
  for (int tries_left = 3;;) {
    const auto part = read_log_range(stream == "stderr" ? job.stderr_log() : job.stdout_log(),
                                     offset, limits::runner_output_bytes_max);
    if (!part) return tl::unexpected(from_store_error(part.error()));
    const std::uint64_t end = part->offset + part->bytes.size();
    const bool is_last = end >= part->end;
    // Where some was sent, an empty piece asks whether it is still there: the service may be
    // another server of its cell by now.
    if (is_last && part->bytes.empty() && part->offset == 0 && !is_newest) return {};
    const auto answer = TRY(line.call("runner.output", {{"runner", work_.identity().runner},
                                                        {"key", work_.identity().key},
                                                        {"job_id", job_id},
                                                        {"stream", stream},
                                                        {"offset", part->offset},
                                                        {"content", to_base64(part->bytes)},
                                                        {"is_newest", is_newest && is_last}}));
    offset = number_at(answer, "next_offset");
    {
      const std::lock_guard lock(mutex_);
      outputs_sent_[job_id][stream] = offset;
    }
    if (offset == end && is_last) return {};
    if (offset != end && --tries_left == 0) {
      return tl::unexpected(io_error("the output of " + job_id + " makes no progress"));
    }
  }
}

void RunnerLink::send_outputs() {
  for (;;) {
    std::set<std::string> wanted;
    {
      std::unique_lock lock(mutex_);
      output_wanted_.wait(lock, [this] { return stopping_ || !outputs_wanted_.empty(); });
      if (stopping_) return;
      wanted.swap(outputs_wanted_);
    }
    for (const std::string& job_id : wanted) {
      const auto sent = send_output(outputs_, job_id, "stderr", false).and_then([&] {
        return send_output(outputs_, job_id, "stdout", true);
      });
      // Whoever asked is told that it didn't come, and it comes when the job has ended.
      const bool is_over = !sent && code_of(sent.error()) == "FORBIDDEN";
      if (!sent && !is_over)
        log_(/*ok=*/false,
             "the output of job " + job_id + " isn't sent: " + message_of(sent.error()));
    }
  }
}

void RunnerLink::send_results() {
  std::string trouble;
  {
    // The first answer says how the service takes artifacts.
    std::unique_lock lock(mutex_);
    first_answered_.wait(lock, [this] { return stopping_ || wants_bundles_; });
  }
  while (const auto job = jobs_.wait_for_ended()) {
    const auto sent = send_result(*job);
    if (sent) {
      jobs_.note_sent(job->job_id, *sent);
      trouble.clear();
    } else if (is_about_the_result(sent.error()) && job->is_unwanted) {
      log_(/*ok=*/false, "what the job " + job->job_id +
                             " has used up isn't recorded: " + message_of(sent.error()));
      jobs_.note_sent(job->job_id, /*taken=*/false);
    } else if (is_about_the_result(sent.error())) {
      jobs_.replace_result(job->job_id,
                           {Outcome::failed, ErrorClass::transient, "RESULT_REFUSED",
                            shortened("its result can't be sent: " + message_of(sent.error()),
                                      limits::reason_bytes_max)});
    } else {
      const std::string text =
          "the result of job " + job->job_id + " isn't sent yet: " + message_of(sent.error());
      if (text != trouble) log_(/*ok=*/false, text);
      trouble = text;
      jobs_.send_again(job->job_id, message_of(sent.error()));
    }
  }
}

}  // namespace signalbox
