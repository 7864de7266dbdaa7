#include "domain/try.h"
#include "server/rpc/methods/run_methods.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "domain/admission.h"
#include "domain/nanoseconds.h"
#include "domain/pipeline.h"
#include "domain/placement.h"
#include "domain/refusals.h"
#include "projections/run_history.h"
#include "projections/why.h"
#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/platform/clock.h"
#include "server/rpc/attempt_surroundings.h"
#include "server/rpc/due_leases.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The event that ends a lock comes before the failures that it causes, in the same commit: this is
// how many events back it is searched.
constexpr Position lock_end_reach = 256;

struct WhyRun {
  RunId run_id{};
};
BOOST_DESCRIBE_STRUCT(WhyRun, (), (run_id))

// The state that the engine's thread captures at one position.
struct RunMoment {
  RunId run_id{};
  Position position = 0;
  std::shared_ptr<const Run> run;  // nullptr: ended, or there is no such run
  WhyContext around;
  bool renews_in_memory = false;  // heartbeats of the attempt aren't recorded now
  RunRoots open_roots;            // those of open runs, if this one isn't open
};

// Returns the end of the attempt's lease in nanoseconds of UTC; 0: no lease.
std::int64_t lease_end_ns(const Api& api, const Run& run) {
  const auto due_ns = api.timers.attempt_lease_end_ns(run.id);
  if (!due_ns || run.attempt->lease_ms == 0) return 0;
  return api.clock.wall_ns() + (*due_ns - api.clock.monotonic_ns());
}

// Adds the number of runs that are ahead in the queue, and the jobs under way.
void add_queue_context(const World& world, const Run& run, WhyContext& around) {
  const StationDefinition& station = run.definition();
  const bool by_worker = station.executor == ExecutorKind::worker;
  for (const auto& [id, other] : world.runs) {
    const StationState& state = other->station();
    const bool same_places = is_remote(other->definition()) == is_remote(station);
    if (other->attempt && !other->attempt->job_id.empty() && same_places &&
        !is_runner(other->attempt->machine)) {
      around.jobs.push_back({id, other->definition().name, other->attempt->token});
    }
    if (state.ready_at == 0 || state.ready_at >= run.station().ready_at) continue;
    const StationDefinition& next = other->definition();
    if (by_worker ? next.executor == ExecutorKind::worker && next.name == station.name
                  : ready_queue_of(*other).executor == ready_queue_of(run).executor) {
      ++around.ready_ahead;
    }
  }
  std::sort(around.jobs.begin(), around.jobs.end(),
            [](const WhyHolder& a, const WhyHolder& b) { return a.token < b.token; });
}

RunMoment run_moment_of(const Api& api, const RunId& run_id) {
  const World& world = api.engine.world();
  RunMoment moment{run_id, world.position, nullptr, {}, false, {}};
  moment.around.storage_full = api.engine.storage_full();
  moment.around.pause = world.server.pause;
  moment.around.data_directory = shell_word(api.facts.data_directory);
  const Run* run = world.find_run(run_id);
  if (run == nullptr) {
    moment.open_roots = world.run_roots;
    const Card* const card = world.board.find_by_run(run_id);
    moment.around.card_goes_on =
        card != nullptr && card->run_id == run_id && goes_on_with_run(world, *card);
    return moment;
  }
  moment.run = std::make_shared<const Run>(*run);
  moment.around.jobs_max =
      is_remote(run->definition()) ? api.facts.remote_jobs_max : api.facts.jobs_max;
  if (run->attempt) {
    moment.around.lease_ends_ns = lease_end_ns(api, *run);
    moment.renews_in_memory = api.timers.renews_in_memory(run_id, api.clock.monotonic_ns());
    moment.around.attempt = attempt_surroundings(api, *run);
  } else if (run->station().ready_at != 0) {
    add_queue_context(world, *run, moment.around);
    if (api.why_no_runner) {
      const RunnerWait wait = api.why_no_runner(*run);
      moment.around.no_runner = wait.text;
      moment.around.runner_wanted = wait.unblocked_by;
    }
  }
  return moment;
}

// Takes over what the grant or the latest recorded renewal of the attempt's lease says. A heartbeat
// that wasn't recorded is later than that one.
void add_renewal(const Record& renewal, RunMoment& moment) {
  const Attempt& attempt = *moment.run->attempt;
  WhyContext& around = moment.around;
  const std::int64_t length_ns = attempt.lease_ms * ns_per_ms;
  bool has_beaten = attempt.lease_renewed_at != attempt.token;
  std::int64_t renewed_at_ns = renewal.recorded_at_ns;
  if (around.lease_ends_ns != 0) {
    const std::int64_t recorded_end_ns = renewal.recorded_at_ns + length_ns;
    around.lease_ends_ns = recorded_if_same(around.lease_ends_ns, recorded_end_ns);
    if (moment.renews_in_memory && around.lease_ends_ns > recorded_end_ns) {
      has_beaten = true;
      renewed_at_ns = around.lease_ends_ns - length_ns;
    }
  }
  if (has_beaten) around.last_heartbeat_at_ns = renewed_at_ns;
}

// Reads the records that the index doesn't list for the run: the latest heartbeat of the attempt
// under way, the end of the lock that the latest attempt lost and, if there is no space, the log's
// last record.
Stored<void> read_around(const Api& api, std::span<const Record> records, RunMoment& moment) {
  const Run& run = *moment.run;
  if (moment.around.storage_full) {
    auto last = TRY(api.log.read(api.log.tail(), 1));
    if (!last.empty()) moment.around.last_durable = std::move(last.front());
  }
  if (run.attempt) {
    auto renewal = TRY(api.log.read(run.attempt->lease_renewed_at, 1));
    if (!renewal.empty()) add_renewal(renewal.front(), moment);
    return {};
  }
  const auto failed = std::find_if(records.rbegin(), records.rend(), [](const Record& record) {
    return event_as<StationAttemptFailed>(record.event) != nullptr;
  });
  if (failed == records.rend() ||
      event_as<StationAttemptFailed>(failed->event)->failure.code != "LOCK_LOST") {
    return {};
  }
  const Position reach = failed->position > lock_end_reach ? failed->position - lock_end_reach : 1;
  const Position from = std::max(reach, api.log.horizon().position + 1);
  if (from >= failed->position) return {};  // what was before it is archived
  auto before = api.log.read(from, static_cast<std::size_t>(failed->position - from));
  if (!before && before.error().kind == StoreError::Kind::dropped) return {};  // meanwhile
  if (!before) return tl::unexpected(before.error());
  for (auto record = before->rbegin(); record != before->rend(); ++record) {
    if (event_as<LockExpired>(record->event) == nullptr &&
        event_as<LockReleased>(record->event) == nullptr) {
      continue;
    }
    moment.around.lock_end = std::move(*record);
    break;
  }
  return {};
}

void add_entry_time(json::object& object, const char* name, std::int64_t utc_ns) {
  if (utc_ns != 0) object[name] = format_time(utc_ns);
}
void add_entry_text(json::object& object, const char* name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

json::object entry_json(const WhyEntry& entry) {
  json::object object;
  object["reason"] = to_json(entry.reason);
  object["text"] = entry.text;
  object["cause_position"] = entry.cause_position;
  object["cause_event"] = entry.cause_event;
  add_entry_time(object, "since", entry.since_ns);
  add_entry_time(object, "until", entry.until_ns);
  add_entry_text(object, "station", entry.station);
  if (entry.attempt != 0) object["attempt"] = entry.attempt;
  add_entry_text(object, "holder", entry.holder);
  if (!entry.holders.empty()) {
    json::array holders;
    for (const WhyHolder& holder : entry.holders) {
      holders.push_back({{"run_id", to_string(holder.run_id)},
                         {"station", holder.station},
                         {"token", holder.token}});
    }
    object["holders"] = std::move(holders);
  }
  add_entry_time(object, "last_heartbeat_at", entry.last_heartbeat_at_ns);
  add_entry_time(object, "last_progress_at", entry.last_progress_at_ns);
  add_entry_text(object, "not_retried", entry.not_retried);
  object["unblocked_by"] = entry.unblocked_by;
  object["next_commands"] = json::array(entry.next_commands.begin(), entry.next_commands.end());
  return object;
}

json::object card_json(const CardRow& card) {
  json::object object;
  object["card_id"] = to_string(card.card_id);
  object["title"] = card.title;
  object["project"] = card.project;
  object["status"] = to_json(card.status);
  return object;
}

// Returns the result of `run.why`. Called on the projector's thread.
Decided<json::object> why_view(const Api& api, const RunIndex& index, RunMoment moment) {
  auto positions = index.run_positions(moment.run_id);
  if (!positions) return unreadable(positions.error());
  std::erase_if(*positions, [&](Position position) { return position > moment.position; });
  if (positions->empty()) {
    return tl::unexpected(run_not_found(api.log, moment.run_id));
  }
  const auto records = read_records(api.log, *positions);
  if (!records) return unreadable(records.error());
  const auto* started = event_as<RunStarted>(records->front().event);
  const auto pipeline =
      index.find_pipeline(started == nullptr ? Digest{} : started->pipeline_digest);
  if (!pipeline) return unreadable(pipeline.error());
  if (started == nullptr || !*pipeline) {
    return reject(ErrorCode::STORAGE_DAMAGED, "the run's start or pipeline isn't there", {},
                  {"signalbox replay"});
  }
  if (moment.run != nullptr) {
    if (auto read = read_around(api, *records, moment); !read) return unreadable(read.error());
  }
  const auto card = index.cards().find_by_run(moment.run_id);
  if (!card) return unreadable(card.error());
  if (*card) moment.around.card = WhyContextCard{(*card)->card_id, (*card)->status};
  moment.around.are_files_removed =
      moment.run == nullptr && api.are_files_removed && api.are_files_removed(moment.run_id);
  moment.around.root_holder = moment.open_roots.overlapping(started->run_root);
  const RunTimeline timeline = fold_timeline(*records, **pipeline);
  const WhyAnswer answer = why({timeline, *records, moment.run.get(), moment.around});
  json::object result;
  result["run_id"] = to_string(answer.run_id);
  result["status"] = to_json(answer.status);
  result["moving"] = answer.moving;
  if (*card) result["card"] = card_json(**card);
  json::array reasons;
  for (const WhyEntry& entry : answer.reasons) reasons.push_back(entry_json(entry));
  result["reasons"] = std::move(reasons);
  return result;
}

}  // namespace

void why_run(Api& api, Call& call) {
  const auto params = from_json<WhyRun>(call.params);
  if (!params) return call.responder.reject(params.error());
  answer_from_moment(api, call.responder,
                     [&api, id = params->run_id] { return why_of_run(api, id); });
}

std::function<Decided<json::object>(const RunIndex& index)> why_of_run(Api& api,
                                                                       const RunId& run_id) {
  return [&api, moment = run_moment_of(api, run_id)](const RunIndex& index) {
    return why_view(api, index, moment);
  };
}

}  // namespace signalbox
