#include "server/rpc/agent_logs.h"

#include <algorithm>
#include <utility>

#include "domain/nanoseconds.h"
#include "server/limits.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

bool has_agent_log(ExecutorKind kind) {
  return kind == ExecutorKind::process || kind == ExecutorKind::coderunner;
}

}  // namespace

AgentLogs::AgentLogs(Context context)
    : context_(std::move(context)),
      reader_(context_.jobs, [this](std::vector<LogExcerpt> excerpts) {
        context_.to_engine([this, excerpts = std::move(excerpts)] { send_live(excerpts); });
      }) {}

void AgentLogs::subscribe(std::shared_ptr<Peer> peer, std::string subscription,
                          std::optional<RunId> run_id) {
  peer->keep_open();
  subscribers_.push_back({std::move(peer), subscription, run_id});
  const auto runs = run_id ? std::optional(std::set<RunId>{*run_id}) : std::nullopt;
  context_.to_files([this, subscription, jobs = followed(runs)] {
    reader_.replay_recent(jobs, [this, &subscription](std::vector<LogExcerpt> excerpts) {
      context_.to_engine([this, subscription, excerpts = std::move(excerpts)] {
        send_backlog(subscription, excerpts);
      });
    });
  });
  if (!std::exchange(polling_, true)) poll();
}

void AgentLogs::drop_closed() {
  std::erase_if(subscribers_, [](const Subscriber& each) { return each.peer->closed(); });
}

void AgentLogs::poll() {
  drop_closed();
  if (subscribers_.empty()) {
    polling_ = false;
    context_.to_files([this] { reader_.rest(); });
    return;
  }
  // No set means all runs: one subscriber to all of them is enough for that.
  std::optional<std::set<RunId>> runs = std::set<RunId>();
  for (const Subscriber& each : subscribers_) {
    if (!each.run_id) runs.reset();
    if (runs) runs->insert(*each.run_id);
  }
  std::vector<FollowedJob> jobs = followed(runs);
  context_.to_files([this, jobs = std::move(jobs)] {
    reader_.look(jobs);
    context_.to_engine([this] { context_.after_interval([this] { poll(); }); });
  });
}

std::vector<FollowedJob> AgentLogs::followed(const std::optional<std::set<RunId>>& only) const {
  std::vector<FollowedJob> jobs;
  const auto add = [&](const RunId& id) {
    const Run* run = context_.engine.world().find_run(id);
    if (run == nullptr || !run->attempt || run->attempt->job_id.empty()) return;
    if (!has_agent_log(run->definition().executor)) return;
    jobs.push_back({run->attempt->job_id, id, run->attempt->span_id});
  };
  if (only) {
    std::for_each(only->begin(), only->end(), add);
  } else {
    for (const RunId& id : context_.runs_with_jobs()) add(id);
  }
  return jobs;
}

void AgentLogs::finish(const Job& job) {
  if (has_agent_log(job.definition.executor)) reader_.finish({job.id, job.run_id, job.span_id});
}

bool AgentLogs::is_silent(const RunId& run_id) const {
  const World& world = context_.engine.world();
  const Card* card = world.board.find_by_run(run_id);
  const Project* project = card == nullptr ? nullptr : world.find_project(card->project);
  return project != nullptr && !project->policy.websocket_events;
}

std::optional<json::object> AgentLogs::params_of(const LogExcerpt& excerpt) const {
  const World& world = context_.engine.world();
  const Run* run = world.find_run(excerpt.job.run_id);
  if (run == nullptr || !run->attempt || run->attempt->span_id != excerpt.job.span_id) return {};
  // The run's latest event may not be durable yet. The attempt's first event is: a job is only
  // started after that.
  const bool durable = run->changed_at <= context_.engine.durable_position();
  json::object params;
  params["position"] = to_json(durable ? run->changed_at : run->attempt->token);
  params["read_at"] = format_time(context_.clock.wall_ns());
  params["span_id"] = to_string(excerpt.job.span_id);
  params["parent_span_id"] = to_string(run->id);
  params["run_id"] = to_string(run->id);
  params["station"] = run->definition().name;
  params["attempt"] = run->attempt->number;
  const Card* card = world.board.find_by_run(run->id);
  params["card_id"] = card == nullptr ? json::value(nullptr) : json::value(to_string(card->id));
  if (card != nullptr) {
    params["project"] = card->project;
    params["title"] = card->title;
  }
  params["stream"] = excerpt.stream;
  params["offset"] = to_json(excerpt.offset);
  params["bytes"] = to_json(excerpt.bytes);
  params["text"] = excerpt.text;
  return params;
}

void AgentLogs::send(Subscriber& subscriber, const std::vector<LogExcerpt>& excerpts) {
  const std::int64_t now_ns = context_.clock.monotonic_ns();
  if (now_ns - subscriber.second_began_ns >= ns_per_s) {
    subscriber.second_began_ns = now_ns;
    subscriber.bytes_this_second = 0;
  }
  for (const LogExcerpt& excerpt : excerpts) {
    if (subscriber.peer->closed()) return;
    if (subscriber.run_id ? *subscriber.run_id != excerpt.job.run_id
                          : is_silent(excerpt.job.run_id)) {
      continue;
    }
    const std::size_t bytes = subscriber.bytes_this_second + excerpt.text.size();
    if (bytes > limits::agent_log_subscriber_bytes_per_second_max) continue;
    // Events have precedence: a subscriber that is slow to read them gets no excerpts.
    if (subscriber.peer->outgoing_bytes() > limits::agent_log_outgoing_bytes_max) return;
    auto params = params_of(excerpt);
    if (!params) continue;
    (*params)["subscription"] = subscriber.subscription;
    subscriber.peer->notify(agent_log_name, *params, false);
    subscriber.bytes_this_second = bytes;
  }
}

void AgentLogs::send_live(const std::vector<LogExcerpt>& excerpts) {
  for (Subscriber& each : subscribers_) {
    if (each.joined) send(each, excerpts);
  }
}

void AgentLogs::send_backlog(const std::string& subscription,
                             const std::vector<LogExcerpt>& excerpts) {
  for (Subscriber& each : subscribers_) {
    if (each.subscription != subscription) continue;
    each.joined = true;
    send(each, excerpts);
  }
}

}  // namespace signalbox
