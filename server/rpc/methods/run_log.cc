// `run.log`: what the job of an attempt printed.
#include <filesystem>
#include <system_error>
#include <utility>

#include "domain/placement.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "projections/run_history.h"
#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/executors/bounded_log.h"
#include "server/executors/job_directory.h"
#include "server/rpc/methods/run_methods.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::uint32_t run_log_bytes_default = 64 * 1024;

// An attempt's output, and the part of it that was asked for.
struct LogQuestion {
  RunId run_id{};
  std::string station;
  std::uint32_t attempt = 0;
  bool is_running = false;
  bool is_newest = true;  // false: its runner has printed more that isn't here
  std::string runner;     // that has the job; empty: the service
  std::string job_id;
  std::string stream;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
};

Rejection no_output(const RunId& run_id, ErrorCode code, const std::string& why) {
  const std::string id = to_string(run_id);
  return {code, why, {{"run_id", id}}, {"signalbox run get " + id}};
}

// Fills in the attempt that was asked for: the latest one that matches and has a job.
Decided<LogQuestion> find_attempt(const Api& api, const RunIndex& index, const ReadRunLog& asked,
                                  LogQuestion question) {
  const auto timeline = read_timeline(api.log, index, asked.run_id);
  if (!timeline) return unreadable(timeline.error());
  if (!*timeline) return tl::unexpected(run_not_found(api.log, asked.run_id));
  Token latest = 0;
  for (const TimelineStation& station : (*timeline)->stations) {
    if (asked.station && station.name != *asked.station) continue;
    for (const TimelineAttempt& attempt : station.attempts) {
      const bool is_asked = !asked.attempt || attempt.number == *asked.attempt;
      if (!is_asked || attempt.job_id.empty() || attempt.token < latest) continue;
      latest = attempt.token;
      question.station = station.name;
      question.attempt = attempt.number;
      question.job_id = attempt.job_id;
      question.is_running = attempt.ended_at_ns == 0;
    }
  }
  if (latest == 0) {
    return tl::unexpected(no_output(asked.run_id, ErrorCode::ARTIFACT_NOT_FOUND,
                                    "the run has no such attempt with a job of the service"));
  }
  return question;
}

// Adds the end of a character that goes over the end of the log's head, where a read ends. Blocks
// on the disk.
void complete_character(const std::filesystem::path& log, LogPart& part) {
  constexpr std::size_t rest_bytes_max = 3;
  const bool is_only_a_beginning =
      !part.bytes.empty() && incomplete_end(part.bytes) == part.bytes.size();
  if (!is_only_a_beginning || part.offset + part.bytes.size() != log_head_bytes) return;
  const auto rest = read_log_range(log, log_head_bytes, rest_bytes_max);
  if (!rest || rest->offset != log_head_bytes) return;
  for (const char each : rest->bytes) {
    const bool continues = (static_cast<unsigned char>(each) & 0xC0) == 0x80;
    if (!continues || incomplete_end(part.bytes) == 0) return;
    part.bytes += each;
  }
}

// Blocks on the disk.
Decided<json::object> read_output(const Api& api, const LogQuestion& question) {
  const JobDirectory job{std::filesystem::path(api.facts.data_directory) / "jobs" /
                         question.job_id};
  std::error_code error;
  if (!std::filesystem::is_directory(job.root, error)) {
    if (!question.runner.empty() && !question.is_newest) {
      Rejection away = no_output(question.run_id, ErrorCode::ARTIFACT_NOT_FOUND,
                                 "the output is at " + question.runner +
                                     ", which doesn't answer now, and it comes when the job ends");
      away.next_commands.push_back("signalbox runner get " + question.runner);
      return tl::unexpected(std::move(away));
    }
    const bool removed = api.are_files_removed && api.are_files_removed(question.run_id);
    return tl::unexpected(no_output(
        question.run_id, removed ? ErrorCode::FILES_REMOVED : ErrorCode::ARTIFACT_NOT_FOUND,
        removed ? "the files of the run were removed by the retention of files"
                : "the output of the attempt isn't on this machine"));
  }
  const std::filesystem::path log =
      question.stream == "stderr" ? job.stderr_log() : job.stdout_log();
  auto part = read_log_range(log, question.offset, question.bytes);
  // The log of events is sound: the job can put anything in the place of its own output.
  if (!part && part.error().kind == StoreError::Kind::damaged) {
    return tl::unexpected(no_output(
        question.run_id, ErrorCode::ARTIFACT_NOT_FOUND,
        "the attempt's job has replaced its own " + question.stream + ": " + part.error().message));
  }
  if (!part) return unreadable(part.error());
  complete_character(log, *part);
  // A character whose end is still to come is left to the next call, also where there is nothing
  // else. Before the end of the stream so little was asked for that the next call gets no more.
  const bool is_newest = part->offset + part->bytes.size() >= part->end;
  const bool is_last = !question.is_running && is_newest;
  const std::size_t left = is_last ? 0 : incomplete_end(part->bytes);
  if (is_newest || left < part->bytes.size()) part->bytes.erase(part->bytes.size() - left);
  json::object result;
  result["run_id"] = to_string(question.run_id);
  result["station"] = question.station;
  result["attempt"] = question.attempt;
  result["job_id"] = question.job_id;
  result["stream"] = question.stream;
  result["running"] = question.is_running;
  result["is_newest"] = question.is_newest;
  result["offset"] = part->offset;
  result["bytes"] = part->bytes.size();
  result["next_offset"] = part->offset + part->bytes.size();
  result["end"] = part->end;
  result["text"] = with_replacements(part->bytes);
  return result;
}

Decided<LogQuestion> read_question(const ReadRunLog& asked) {
  LogQuestion question;
  question.run_id = asked.run_id;
  question.stream = asked.stream.value_or("stdout");
  if (question.stream != "stdout" && question.stream != "stderr") {
    return reject(ErrorCode::INVALID_PARAMS, "stream must be stdout or stderr",
                  {{"field", std::string("stream")}, {"value", question.stream}});
  }
  question.offset = asked.offset.value_or(0);
  question.bytes = asked.bytes.value_or(run_log_bytes_default);
  TRY(require_between("bytes", question.bytes, 1, run_log_bytes_max));
  return question;
}

// Reads the output once the job's runner, if it has one, has sent what there is.
void fetch_and_answer(Api& api, const Responder& responder, Position position,
                      LogQuestion question) {
  const Run* const run = api.engine.world().find_run(question.run_id);
  const bool is_open = run != nullptr && run->attempt && run->attempt->job_id == question.job_id;
  if (is_open && is_runner(run->attempt->machine)) question.runner = run->attempt->machine;
  const auto answer = [&api, responder, position](const LogQuestion& about) {
    api.blocking.run({.name = "output of " + about.job_id},
                     [&api, responder, position, about]() -> std::function<void()> {
                       return responder.prepare(read_output(api, about), position);
                     });
  };
  if (question.runner.empty() || !api.fetch_output) return answer(question);
  api.fetch_output(question.runner, question.job_id, [answer, question](bool is_newest) mutable {
    question.is_newest = is_newest;
    answer(question);
  });
}

}  // namespace

void read_run_log(Api& api, Call& call) {
  const auto asked = from_json<ReadRunLog>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const auto question = read_question(*asked);
  if (!question) return call.responder.reject(question.error());
  query_read_models(api, call.responder, api.engine.world().position,
                    [&api, responder = call.responder, asked = *asked,
                     question = *question](const RunIndex& index) {
                      return [&api, responder, position = index.applied(),
                              found = find_attempt(api, index, asked, question)] {
                        if (!found) return responder.reject(found.error());
                        fetch_and_answer(api, responder, position, *found);
                      };
                    });
}

}  // namespace signalbox
