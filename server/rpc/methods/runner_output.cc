// What jobs at runners print: a copy beside the output of the service's own jobs.
#include <fcntl.h>
#include <unistd.h>

#include "domain/try.h"
#include "server/executors/bounded_log.h"
#include "server/executors/job_directory.h"
#include "server/limits.h"
#include "server/rpc/api.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/runner_methods.h"
#include "server/rpc/runner_outputs.h"
#include "server/rpc/runner_queue.h"
#include "server/text/described_json.h"
#include "store/base64.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

// Returns the bytes of the piece, if it may be taken.
Decided<std::string> check_piece(const SendOutput& asked, const RunnerParts& parts) {
  TRY(require_key(parts, asked.runner, asked.key));
  if (asked.stream != "stdout" && asked.stream != "stderr") {
    return invalid("stream", "must be stdout or stderr");
  }
  auto content = from_base64(asked.content);
  if (!content) return invalid("content", "must be base64");
  if (content->size() > limits::runner_output_bytes_max) {
    return invalid("content", "is longer than runner_output_bytes_max");
  }
  if (!parts.queue->is_wanted(asked.runner, asked.job_id)) {
    return reject(ErrorCode::FORBIDDEN, asked.runner + " has no such job under way",
                  {{"runner", asked.runner}, {"job_id", asked.job_id}});
  }
  return std::move(*content);
}

}  // namespace

void take_runner_output(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json_of_any_version<SendOutput>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const auto content = check_piece(*asked, parts);
  if (!content) return call.responder.reject(content.error());
  api.blocking.run({.name = "output of " + asked->job_id},
                   [&parts, responder = call.responder, asked = *asked,
                    content = *content]() -> std::function<void()> {
                     const JobDirectory job{parts.jobs / asked.job_id};
                     const auto added = make_directories(job.root).and_then([&] {
                       return add_log_part(
                           asked.stream == "stderr" ? job.stderr_log() : job.stdout_log(),
                           asked.offset, content);
                     });
                     if (!added) {
                       return [responder, why = unstored_artifact(asked.stream, added.error())] {
                         responder.reject(why);
                       };
                     }
                     return [&parts, responder, job_id = asked.job_id, is_newest = asked.is_newest,
                             next = *added, end = asked.offset + content.size()] {
                       // A piece that doesn't follow what is here is sent again from there on.
                       if (is_newest && next == end) parts.outputs->note_sent(job_id);
                       responder.result({{"next_offset", next}});
                     };
                   });
}

Stored<void> keep_runner_output(const std::filesystem::path& jobs, const std::string& job_id) {
  const JobDirectory job{jobs / job_id};
  TRY(make_directories(job.root));
  for (const auto& log : {job.stdout_log(), job.stderr_log()}) {
    if (TRY(add_log_part(log, 0, {})) == 0) continue;
    const FileDescriptor file(::open(log.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::fdatasync(file.get()) != 0) return tl::unexpected(system_error("sync", log));
  }
  return {};
}

}  // namespace signalbox
