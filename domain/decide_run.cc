// Decisions about a run as a whole: start, cancel, pause, resume.
#include "domain/check.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/refusals.h"

namespace signalbox {
namespace {

Decided<void> validate(const StartRun& command) {
  const auto text = [](const char* field, const std::optional<std::string>& value,
                       std::size_t bytes_max) -> Decided<void> {
    return value ? require_at_most(field, *value, bytes_max) : Decided<void>{};
  };
  if (auto ok = require_name("goal", command.goal, limits::goal_bytes_max); !ok) return ok;
  if (auto ok = text("input", command.input, limits::input_bytes_max); !ok) return ok;
  if (auto ok = text("project", command.project, limits::name_bytes_max); !ok) return ok;
  if (auto ok = text("idempotency_key", command.idempotency_key, limits::name_bytes_max); !ok) {
    return ok;
  }
  if (auto ok = text("base", command.base, limits::name_bytes_max); !ok) return ok;
  if (auto ok = require_absolute("run_root", command.run_root); !ok) return ok;
  if (auto ok = require_absolute("repository", command.repository); !ok) return ok;
  if (command.base && command.base->starts_with('-')) {
    return reject(ErrorCode::INVALID_PARAMS, "base must be a commit or a branch",
                  {{"field", std::string("base")}, {"value", *command.base}});
  }
  if (command.labels.size() > limits::labels_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many labels",
                  {{"labels", static_cast<std::int64_t>(command.labels.size())},
                   {"labels_max", static_cast<std::int64_t>(limits::labels_max)}});
  }
  for (const auto& [key, value] : command.labels) {
    if (auto ok = require_name("labels", key, limits::label_bytes_max); !ok) return ok;
    if (auto ok = require_at_most("labels", value, limits::label_bytes_max); !ok) return ok;
    if (key.find_first_of("=\n") != std::string::npos) {
      return reject(ErrorCode::INVALID_PARAMS, "a label's name has no '=' and no line break",
                    {{"label", key}});
    }
  }
  return {};
}

Decided<void> same_request(const StartRun& command, const RunId& run_id, const Digest& first) {
  if (first == command.request_digest) return {};
  return reject(ErrorCode::IDEMPOTENCY_CONFLICT,
                "the idempotency key stands for another request: run " + to_string(run_id),
                {{"idempotency_key", *command.idempotency_key}, {"run_id", to_string(run_id)}},
                {"signalbox run get " + to_string(run_id)});
}

}  // namespace

Decided<NewEvents> decide(const World& world, const StartRun& command, const Now&) {
  if (auto ok = validate(command); !ok) return tl::unexpected(ok.error());
  if (command.pipeline) {
    if (auto ok = validate(*command.pipeline); !ok) return tl::unexpected(ok.error());
  }
  if (command.idempotency_key) {
    const auto known = world.run_by_idempotency_key.find(*command.idempotency_key);
    if (known != world.run_by_idempotency_key.end()) {
      const RunId& id = known->second;
      const Run* run = world.find_run(id);
      const Digest& first =
          run != nullptr ? run->request_digest : world.ended_runs.find(id)->request_digest;
      if (auto ok = same_request(command, id, first); !ok) return tl::unexpected(ok.error());
      return NewEvents{};
    }
  }
  RunStarted started;
  started.goal = command.goal;
  started.input = command.input.value_or("");
  started.project = command.project.value_or("");
  started.labels = command.labels;
  started.idempotency_key = command.idempotency_key.value_or("");
  started.request_digest = command.request_digest;
  started.pipeline_digest = command.pipeline_digest;
  if (!world.pipelines.contains(command.pipeline_digest)) {
    started.pipeline = command.pipeline ? *command.pipeline : default_pipeline();
  }
  started.run_root = command.run_root.value_or("");
  started.repository = command.repository.value_or("");
  started.base = command.base.value_or("");
  return NewEvents{{Stream::run(command.run_id), {}, 0, RunEvent{std::move(started)}}};
}

Decided<NewEvents> decide(const World& world, const CancelRun& command, const Now&) {
  const auto found = open_run(world, command.run_id);
  if (!found) return tl::unexpected(found.error());
  const Run& run = **found;
  const std::string reason = command.reason.value_or("");
  if (auto ok = require_at_most("reason", reason, limits::reason_bytes_max); !ok) {
    return tl::unexpected(ok.error());
  }
  if (run.cancel_requested) return NewEvents{};

  const Stream stream = Stream::run(run.id);
  // A job that was submitted, or may have been, has to be ended first. An outside worker hears of
  // the end with its next word: its token is stale from here on.
  if (run.attempt && !run.attempt->job_id.empty()) {
    return NewEvents{{stream, run.attempt->span_id, 0, RunEvent{RunCancelRequested{reason}}}};
  }
  const Uuid span = run.attempt ? run.attempt->span_id : Uuid{};
  return NewEvents{{stream, span, 0, StationEvent{StationCanceled{run.definition().name}}},
                   {stream, {}, 0, RunEvent{RunCanceled{reason}}}};
}

Decided<NewEvents> decide(const World& world, const ConfirmCancel& command, const Now&) {
  const Run* run = world.find_run(command.run_id);
  if (run == nullptr || !run->cancel_requested) return NewEvents{};
  if (!run->attempt || run->attempt->token != command.token) return NewEvents{};
  const Stream stream = Stream::run(run->id);
  const Attempt& attempt = *run->attempt;
  const std::string& station = run->definition().name;
  NewEvents events;
  if (command.escaped_pids.empty()) {
    events.push_back({stream, attempt.span_id, attempt.token,
                      StationEvent{CancelConfirmed{station, attempt.job_id}}});
  } else {
    events.push_back({stream, attempt.span_id, attempt.token,
                      StationEvent{CancelEscaped{station, attempt.job_id, command.escaped_pids}}});
  }
  events.push_back(
      {stream, attempt.span_id, attempt.token, StationEvent{StationCanceled{station}}});
  events.push_back({stream, {}, attempt.token, RunEvent{RunCanceled{run->cancel_reason}}});
  return events;
}

Decided<NewEvents> decide(const World& world, const PauseRun& command, const Now&) {
  const auto found = open_run(world, command.run_id);
  if (!found) return tl::unexpected(found.error());
  const std::string reason = command.reason.value_or("");
  if (auto ok = require_at_most("reason", reason, limits::reason_bytes_max); !ok) {
    return tl::unexpected(ok.error());
  }
  if ((*found)->status == RunStatus::paused) return NewEvents{};
  return NewEvents{{Stream::run(command.run_id), {}, 0, RunEvent{RunPaused{reason}}}};
}

Decided<NewEvents> decide(const World& world, const ResumeRun& command, const Now&) {
  const auto found = open_run(world, command.run_id);
  if (!found) return tl::unexpected(found.error());
  const std::string reason = command.reason.value_or("");
  if (auto ok = require_at_most("reason", reason, limits::reason_bytes_max); !ok) {
    return tl::unexpected(ok.error());
  }
  if ((*found)->status != RunStatus::paused) return NewEvents{};
  return NewEvents{{Stream::run(command.run_id), {}, 0, RunEvent{RunResumed{reason}}}};
}

}  // namespace signalbox
