// Artifacts of jobs at runners, which come before the result that names them: through the service
// in pieces, or straight into its store of objects by a URL that is good for one content alone.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/limits.h"
#include "server/platform/artifact_store.h"
#include "server/platform/clock.h"
#include "server/rpc/api.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/runner_methods.h"
#include "server/rpc/runner_queue.h"
#include "server/rpc/uploads.h"
#include "server/runners/runner_registry.h"
#include "server/text/described_json.h"
#include "store/base64.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Decided<UploadPiece> piece_of(const UploadArtifact& asked) {
  UploadPiece piece{asked.runner, {}, 0, 0, {}};
  const auto digest = parse_digest(asked.sha256);
  if (!digest) return invalid("sha256", "must be 64 hexadecimal digits");
  piece.sha256 = *digest;
  TRY(require_between("bytes", asked.bytes, 0, limits::artifact_bytes_max));
  TRY(require_between("offset", asked.offset, 0, asked.bytes));
  piece.bytes = static_cast<std::uint64_t>(asked.bytes);
  piece.offset = static_cast<std::uint64_t>(asked.offset);
  auto content = from_base64(asked.content);
  if (!content) return invalid("content", "must be base64");
  if (content->size() > limits::upload_piece_bytes_max ||
      content->size() > piece.bytes - piece.offset) {
    return invalid("content", "is longer than the rest, or than upload_piece_bytes_max");
  }
  piece.content = std::move(*content);
  return piece;
}

json::object to_result(const UploadProgress& progress, const std::optional<UploadUrl>& direct) {
  json::object result{{"complete", progress.complete},
                      {"next_offset", static_cast<std::int64_t>(progress.next_offset)}};
  if (!direct) return result;
  json::object headers;
  for (const auto& [name, value] : direct->headers) headers[name] = value;
  result["direct"] = json::object{{"url", direct->url},
                                  {"headers", std::move(headers)},
                                  {"expires_in_ms", limits::upload_url_ms_max}};
  return result;
}

}  // namespace

void take_runner_upload(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json_of_any_version<UploadArtifact>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  auto piece =
      require_key(parts, asked->runner, asked->key).and_then([&] { return piece_of(*asked); });
  if (!piece) return call.responder.reject(piece.error());
  const std::size_t jobs = parts.registry->count_jobs(asked->runner);
  if (jobs == 0) {
    return call.responder.reject({ErrorCode::FORBIDDEN,
                                  asked->runner + " has no job whose artifacts it could upload",
                                  {{"runner", asked->runner}},
                                  {}});
  }
  const std::string job_id = asked->job_id.value_or("");
  const auto is_wanted = [&](const std::string& id) {
    return parts.queue->is_wanted(asked->runner, id);
  };
  if (!job_id.empty() && !is_wanted(job_id)) {
    return call.responder.reject({ErrorCode::FORBIDDEN,
                                  asked->runner + " has no such job under way",
                                  {{"runner", asked->runner}, {"job_id", job_id}},
                                  {}});
  }
  const auto charged = parts.budget.charge({asked->runner, job_id, piece->sha256, piece->bytes},
                                           jobs, is_wanted, api.clock.monotonic_ns());
  if (!charged) return call.responder.reject(charged.error());
  const auto refuse = [responder = call.responder](const Rejection& why) { responder.reject(why); };
  run_artifact_work(
      api, call.origin.actor, "uploads of " + asked->runner, refuse,
      [&api, &parts, refuse, responder = call.responder, wants_url = asked->wants_url,
       piece = std::move(*piece)]() -> std::function<void()> {
        const auto added = add_upload_piece(parts.uploads, api.artifacts, piece);
        if (!added) {
          return [refuse, why = unstored_artifact(to_hex(piece.sha256), added.error())] {
            refuse(why);
          };
        }
        if (added->is_other_content) {
          return [refuse] { refuse(invalid("content", "has another digest").value()); };
        }
        std::optional<UploadUrl> direct;
        if (wants_url && !added->complete) {
          // Without one, the content comes in pieces, and then whatever is wrong is told.
          const std::int64_t now_ns = SystemClock().wall_ns();
          if (auto given = api.artifacts.upload_url(piece.sha256, piece.bytes, now_ns)) {
            direct = *given;
          }
        }
        return [responder, result = to_result(*added, direct)] { responder.result(result); };
      });
}

}  // namespace signalbox
