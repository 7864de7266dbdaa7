// `runner.*`: what programs on other machines that execute jobs tell and are told, and what people
// see and decide about them.
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "domain/limits.h"
#include "domain/placement.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "domain/try.h"
#include "server/access/secret.h"
#include "server/engine/engine.h"
#include "server/executors/job_report.h"
#include "server/limits.h"
#include "server/platform/artifact_store.h"
#include "server/platform/attempt_bundle.h"
#include "server/platform/clock.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/late_usage.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/runner_methods.h"
#include "server/rpc/runner_queue.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RegisterRunner {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(RegisterRunner, (), (name))

struct FinishJob {
  std::string runner;
  std::string key;
  std::string job_id;
  std::optional<std::string> external_ref;  // as in its reports, of which none may have come
  JobResult result;
};
BOOST_DESCRIBE_STRUCT(FinishJob, (), (runner, key, job_id, external_ref, result))

struct NoteRemoval {
  std::string runner;
  std::string key;
  RunId run_id{};
  std::string path;
  bool removed = false;
  bool rescued = false;  // the run's rescue ref has work of it
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(NoteRemoval, (), (runner, key, run_id, path, removed, rescued, reason))

struct ListRunsOfRunner {
  std::string runner;
  std::string key;
  std::vector<RunId> runs;
};
BOOST_DESCRIBE_STRUCT(ListRunsOfRunner, (), (runner, key, runs))

void register_runner(Api&, Call& call, RunnerParts& parts) {
  const auto asked = from_json<RegisterRunner>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  if (!is_runner_label(asked->name) || asked->name.size() > limits::runner_name_bytes_max) {
    return call.responder.reject(
        invalid("name", "must have 1 to " + std::to_string(limits::runner_name_bytes_max) +
                            " of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit")
            .value());
  }
  std::uint64_t bits = 0;
  parts.random(std::as_writable_bytes(std::span(&bits, 1)));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&bits);
  std::string digits;
  for (std::size_t at = 0; at < sizeof bits; ++at) {
    constexpr char hexadecimal[] = "0123456789abcdef";
    digits += hexadecimal[bytes[at] >> 4U];
    digits += hexadecimal[bytes[at] & 15U];
  }
  const std::string runner = runner_id(asked->name, digits);
  call.responder.result({{"runner", runner}, {"key", make_runner_key(parts.key, runner)}});
}

Decided<void> check_report(const RunnerReport& report) {
  TRY(require_at_most("instance", report.instance, limits::runner_name_bytes_max));
  TRY(require_at_most("version", report.version.value_or(""), limits::runner_name_bytes_max));
  TRY(require_between("slots", report.slots, 0, limits::runner_slots_max));
  TRY(require_between("lease_ms", report.lease_ms, limits::runner_lease_ms_min,
                      limits::runner_lease_ms_max));
  TRY(require_between("wait_ms", report.wait_ms.value_or(0), 0, limits::runner_wait_ms_max));
  const bool known_labels =
      std::all_of(report.labels.begin(), report.labels.end(),
                  [](const std::string& label) { return is_runner_label(label); });
  if (!known_labels) return invalid("labels", "must be labels such as \"gpu\"");
  for (const auto& [field, count, most] :
       {std::tuple("labels", report.labels.size(), limits::runner_labels_max),
        std::tuple("repositories", report.repositories.size(), limits::runner_repositories_max),
        std::tuple("jobs", report.jobs.size(), limits::runner_jobs_max)}) {
    if (count > most) {
      return reject(
          ErrorCode::LIMIT_EXCEEDED, std::string("too many ") + field,
          {{field, static_cast<std::int64_t>(count)}, {"max", static_cast<std::int64_t>(most)}});
    }
  }
  std::size_t bytes = 0;
  for (const std::string& path : report.repositories) bytes += path.size();
  if (bytes > limits::runner_repositories_bytes_max) {
    return invalid("repositories", "has too long paths together");
  }
  for (const RunnerJobReport& job : report.jobs) {
    TRY(require_at_most("job_id", job.job_id, limits::path_bytes_max));
    TRY(require_at_most("external_ref", job.external_ref, limits::path_bytes_max));
    TRY(require_at_most("undelivered", job.undelivered.value_or(""), limits::reason_bytes_max));
  }
  return {};
}

void exchange(Api& api, Call& call, RunnerParts& parts) {
  auto report = from_json_of_any_version<RunnerReport>(call.params);
  if (!report) return call.responder.reject(report.error());
  const auto checked = require_key(parts, report->runner, report->key).and_then([&] {
    return check_report(*report);
  });
  if (!checked) return call.responder.reject(checked.error());
  const std::int64_t now_ns = api.clock.monotonic_ns();
  // Only jobs of this runner are remembered, so that a lie takes no memory.
  std::vector<std::string> forget;
  std::erase_if(report->jobs, [&](const RunnerJobReport& job) {
    if (parts.queue->is_wanted(report->runner, job.job_id)) return false;
    if (!job.unwanted) forget.push_back(job.job_id);
    return true;
  });
  std::map<std::string, std::string> undelivered;
  for (RunnerJobReport& job : report->jobs) {
    if (job.undelivered) undelivered[job.job_id] = *std::exchange(job.undelivered, std::nullopt);
  }
  const auto news = parts.registry->report(*report, now_ns, call.origin.actor);
  if (!news) return call.responder.reject(news.error());
  if (report->number == 1) parts.removals->ask_again(report->runner);
  if (news->offers) parts.offers_changed();
  for (const std::string& job_id : news->jobs) {
    if (!undelivered.contains(job_id)) parts.look_again(job_id, {});
  }
  for (const auto& [job_id, why] : undelivered) parts.look_again(job_id, why);
  const std::int64_t wait_ms = report->wait_ms.value_or(0);
  parts.queue->answer_or_wait(report->runner, call.responder,
                              wait_ms == 0 ? 0 : now_ns + wait_ms * 1'000'000, forget);
}

// Checks what an event is going to hold: the end of an attempt must not be refused later.
Decided<void> check_result(const JobResult& result) {
  TRY(require_at_most("summary", result.result.summary, limits::summary_bytes_max));
  TRY(require_at_most("logs_inline", result.result.logs_inline, limits::logs_inline_bytes_max));
  TRY(require_at_most("metadata", result.result.metadata, limits::metadata_bytes_max));
  TRY(require_at_most("external_ref", result.result.external_ref, limits::path_bytes_max));
  TRY(require_at_most("message", result.failure.message, limits::reason_bytes_max));
  TRY(require_at_most("checks_changed", result.checks_changed, limits::summary_bytes_max));
  TRY(validate(result.usage));
  if (result.escaped_pids.size() > limits::escaped_pids_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many escaped_pids",
                  {{"escaped_pids_max", static_cast<std::int64_t>(limits::escaped_pids_max)}});
  }
  if (!result.result.metadata.empty()) {
    const auto metadata = parse_json(result.result.metadata);
    if (!metadata || !metadata->is_object())
      return invalid("metadata", "must be a JSON object as text");
  }
  if (!result.failure.code.empty()) {
    TRY(require_token("code", result.failure.code, limits::name_bytes_max));
  }
  TRY(require_artifacts(result.result.artifacts));
  return {};
}

// Returns why a result with these artifacts isn't taken: one isn't stored, so that the runner has
// to upload it (again), or what its bundle has in its place is something else. Blocks.
Decided<void> check_stored(Api& api, const std::vector<Artifact>& artifacts) {
  std::set<std::pair<Digest, std::uint64_t>> confirmed;
  for (const Artifact& artifact : artifacts) {
    // Members are looked at together, below.
    if (place_of(artifacts, artifact).part) continue;
    if (!confirmed.emplace(artifact.sha256, artifact.bytes).second) continue;
    const auto stored = api.artifacts.confirm(artifact.sha256, artifact.bytes);
    if (!stored) {
      return tl::unexpected(unreadable_artifact(api, artifact.name, stored.error()));
    }
    if (*stored) continue;
    return reject(ErrorCode::ARTIFACT_NOT_FOUND,
                  "the content of artifact " + std::string(artifact.name) +
                      " wasn't uploaded, isn't stored any more, or isn't of its size and digest: "
                      "upload it and repeat the call",
                  {{"artifact", std::string(artifact.name)}, {"sha256", to_hex(artifact.sha256)}});
  }
  const auto wrong = find_wrong_member(api.artifacts, artifacts);
  if (!wrong) return tl::unexpected(unreadable_artifact(api, bundle_name, wrong.error()));
  if (!*wrong) return {};
  return invalid("artifacts", "names " + std::string((*wrong)->name) +
                                  ", which isn't what the bundle has in its place");
}

// Answers about a result that nobody wants any more. What the job has used up is recorded all the
// same, unless it is known.
void take_usage_alone(Api& api, const Responder& responder, const std::string& runner,
                      const std::string& job_id, const Usage& usage) {
  const auto name = parse_job_id(job_id);  // it may be any text
  const auto run_id = name ? parse_uuid(name->run_id) : std::nullopt;
  if (!run_id || usage == Usage{}) return responder.result({{"taken", false}});
  record_late_usage(api, {*run_id, AttemptOfJob{job_id, runner}, usage},
                    [responder](const Decided<LateUsageOutcome>& outcome) {
                      if (!outcome) return responder.reject(outcome.error());
                      responder.result({{"taken", false}, {"usage", to_json(*outcome)}});
                    });
}

// Takes the result only once all artifacts that it names are stored: no event names content that
// isn't there. What nobody wants makes no work.
void finish(Api& api, Call& call, RunnerParts& parts) {
  auto asked = from_json_of_any_version<FinishJob>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const auto checked =
      require_key(parts, asked->runner, asked->key)
          .and_then([&] { return check_result(asked->result); })
          .and_then([&] {
            return require_at_most("external_ref", asked->external_ref.value_or(""),
                                   limits::path_bytes_max);
          });
  if (!checked) return call.responder.reject(checked.error());
  // Another job's id may be any text, and names no directory.
  if (!parts.queue->is_wanted(asked->runner, asked->job_id)) {
    parts.look_again(asked->job_id, {});
    return take_usage_alone(api, call.responder, asked->runner, asked->job_id, asked->result.usage);
  }
  const auto refuse = [responder = call.responder](const Rejection& why) { responder.reject(why); };
  const std::string lane = "results of " + asked->runner;
  run_artifact_work(
      api, call.origin.actor, lane, refuse,
      [&api, &parts, refuse, responder = call.responder,
       asked = std::move(*asked)]() mutable -> std::function<void()> {
        if (const auto stored = check_stored(api, asked.result.result.artifacts); !stored) {
          return [refuse, why = stored.error()] { refuse(why); };
        }
        if (!parts.jobs.empty()) {
          // On a full disk the result waits, too. Anything else holds up no end of an attempt.
          const auto kept = keep_runner_output(parts.jobs, asked.job_id);
          if (!kept && kept.error().kind == StoreError::Kind::full) {
            return [refuse, why = unstored_artifact("output", kept.error())] { refuse(why); };
          }
          if (!kept) note_lost_output(asked.result, kept.error().message);
        }
        return [&api, &parts, responder, asked = std::move(asked)]() mutable {
          const std::string job_id = asked.job_id;
          const Usage usage = asked.result.usage;
          const std::vector<Artifact> named = asked.result.result.artifacts;
          const bool taken = parts.queue->is_wanted(asked.runner, job_id) &&
                             parts.registry->finish(asked.runner, job_id, std::move(asked.result),
                                                    asked.external_ref.value_or(""));
          if (taken) parts.budget.release(asked.runner, named);
          parts.look_again(job_id, {});
          if (!taken) return take_usage_alone(api, responder, asked.runner, job_id, usage);
          responder.result({{"taken", taken}});
        };
      });
}

// Says which of the runs whose workspaces a runner has are open, and which need them no more: those
// that succeeded or were canceled. The others failed, and may be retried.
void tell_runs(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json_of_any_version<ListRunsOfRunner>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  if (auto known = require_key(parts, asked->runner, asked->key); !known) {
    return call.responder.reject(known.error());
  }
  if (asked->runs.size() > limits::runner_runs_max) {
    return call.responder.reject(
        {ErrorCode::LIMIT_EXCEEDED,
         "too many runs",
         {{"runner_runs_max", static_cast<std::int64_t>(limits::runner_runs_max)}},
         {}});
  }
  json::array open;
  json::array over;
  for (const RunId& id : asked->runs) {
    const World& world = api.engine.world();
    const EndedRun* const ended = world.ended_runs.find(id);
    const Run* const run = world.find_run(id);
    const auto worktree = world.worktrees.find(id);
    const bool is_kept =  // for its card; runner.exchange says when it may go
        worktree != world.worktrees.end() && worktree->second.runner == asked->runner;
    if (run != nullptr || is_kept) {
      if (is_kept || run->machine == asked->runner) open.push_back(to_json(id));
    } else if (ended != nullptr && ended->status != RunStatus::failed) {
      over.push_back(to_json(id));
    }
  }
  call.responder.result({{"open", std::move(open)}, {"over", std::move(over)}});
}

// Records what became of a worktree. A word about another one is left out: an earlier process of
// the service may have asked for it.
void note_removal(Api&, Call& call, RunnerParts& parts) {
  const auto asked = from_json_of_any_version<NoteRemoval>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const auto checked = require_key(parts, asked->runner, asked->key).and_then([&] {
    return require_at_most("path", asked->path, limits::path_bytes_max);
  });
  if (!checked) return call.responder.reject(checked.error());
  const auto worktree = parts.removals->take(asked->runner, asked->run_id);
  if (worktree) {
    NoteWorktree note;
    note.project = worktree->project;
    note.run_id = worktree->run_id;
    note.path = asked->runner + ":" + asked->path;
    note.removed = asked->removed;
    note.reason = shortened(asked->reason.value_or(""), limits::reason_bytes_max);
    parts.note_worktree(std::move(note), asked->rescued);
  }
  call.responder.result({{"taken", worktree.has_value()}});
}

using RunnerHandler = void (*)(Api& api, Call& call, RunnerParts& parts);

// Returns the handler of a service with runners; one without has none that could be given anything.
Handler of_runners(std::shared_ptr<RunnerParts> parts, RunnerHandler handle) {
  return [parts = std::move(parts), handle](Api& api, Call& call) {
    if (parts->registry != nullptr) return handle(api, call, *parts);
    call.responder.reject({ErrorCode::NOT_ALLOWED, "this process executes nothing", {}, {}});
  };
}

}  // namespace

Decided<void> require_key(const RunnerParts& parts, const std::string& runner,
                          const std::string& key) {
  if (is_runner_key(parts.key, runner, key)) return {};
  return reject(ErrorCode::FORBIDDEN,
                "this key isn't the one of " + runner +
                    ": it was registered with another data directory, or never",
                {{"runner", runner}});
}

std::vector<Method> runner_methods(std::shared_ptr<RunnerParts> parts) {
  const auto row = [&parts](const char* name, Role needs, const described_json::Type* params,
                            RunnerHandler handle) {
    return Method{name, false, needs, params, of_runners(parts, handle)};
  };
  // Without runners of its own, a service shows those that its log names.
  const auto query = [&parts](const char* name, const described_json::Type* params,
                              RunnerHandler handle) {
    return Method{name, false, Role::viewer, params,
                  [parts, handle](Api& api, Call& call) { handle(api, call, *parts); }};
  };
  const auto decision = [&parts](const char* name, const described_json::Type* params,
                                 RunnerHandler handle) {
    return Method{name, true, Role::operator_, params, of_runners(parts, handle)};
  };
  return {
      row("runner.register", Role::runner, params_of<RegisterRunner>(), register_runner),
      row("runner.exchange", Role::runner, params_of<RunnerReport>(), exchange),
      row("runner.upload", Role::runner, params_of<UploadArtifact>(), take_runner_upload),
      row("runner.output", Role::runner, params_of<SendOutput>(), take_runner_output),
      row("runner.finish", Role::runner, params_of<FinishJob>(), finish),
      row("runner.runs", Role::runner, params_of<ListRunsOfRunner>(), tell_runs),
      row("runner.removed", Role::runner, params_of<NoteRemoval>(), note_removal),
      query("runner.list", params_of<NoParams>(), list_runners),
      query("runner.get", params_of<NamedRunner>(), get_runner),
      decision("runner.drain", params_of<DrainRunner>(), drain_runner),
      decision("runner.evict", params_of<EvictRunner>(), evict_runner),
  };
}

}  // namespace signalbox
