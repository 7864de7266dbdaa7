#include "tools/runner/runner_link.h"

#include <algorithm>
#include <utility>

#include "domain/try.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/platform/http_request.h"
#include "server/platform/program_version.h"
#include "server/text/described_json.h"
#include "tools/cli/active_call.h"
#include "tools/cli/backoff.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds pause_min{200};
constexpr milliseconds pause_max{5'000};
// How long the last word of a runner that ends may take.
constexpr milliseconds farewell_time{2'000};
// A service that accepts the connection and says nothing for so long counts as away.
constexpr milliseconds answer_time{25'000};

// Returns how long the answer to a report may wait for something to do: a report or two may be lost
// within a lease.
milliseconds report_wait(std::int64_t lease_ms) {
  return milliseconds(std::min(limits::runner_wait_ms_max, lease_ms / 3));
}

// Returns how long the answer may take in all. After a cut of the network a new connection is at
// once what the old one becomes only when its pause between two tries is over, which may be longer
// than what is left of the lease.
milliseconds report_time(std::int64_t lease_ms) {
  return report_wait(lease_ms) + std::min(answer_time, milliseconds(lease_ms / 3));
}

// Returns whether each way to the service ends on this machine.
bool is_reached_here(const ServerAddress& server) {
  return std::all_of(server.endpoints.begin(), server.endpoints.end(), [](const Endpoint& each) {
    return each.is_unix() || reach_of_url("http://" + each.host_and_port()) == UrlReach::machine;
  });
}

}  // namespace

Called<json::object> RunnerLink::Line::call(std::string_view method, const json::object& params) {
  std::shared_ptr<Client> client;
  {
    const std::lock_guard lock(mutex_);
    if (interrupted_) return tl::unexpected(unreachable("the runner stops", {}));
    client = client_;
  }
  if (client == nullptr) {
    if (const auto found = find_server_()) server_.secret = found->secret;
    auto connected = Client::connect(server_, answer_time_);
    if (!connected) return tl::unexpected(connected.error());
    client = std::make_shared<Client>(std::move(*connected));
    const std::lock_guard lock(mutex_);
    if (interrupted_) return tl::unexpected(unreachable("the runner stops", {}));
    client_ = client;
  }
  auto answer = client->call(method, params);
  if (answer || answer.error().exit_code == ExitCode::refused) return answer;
  const std::lock_guard lock(mutex_);
  server_ = server_.after(client->endpoint());
  client_ = nullptr;
  return answer;
}

void RunnerLink::Line::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (client_ != nullptr) client_->interrupt();
}

ServerAddress RunnerLink::Line::address() const {
  const std::lock_guard lock(mutex_);
  return client_ == nullptr ? server_ : server_.from(client_->endpoint());
}

RunnerLink::RunnerLink(ServerAddress server, FindServer find_server, NoteActive note_active,
                       RunnerSettings settings, RunnerWork& work, RunnerJobs& jobs,
                       ArtifactStore& artifacts, Log log)
    : settings_(std::move(settings)),
      work_(work),
      jobs_(jobs),
      artifacts_(artifacts),
      log_(std::move(log)),
      server_(std::move(server)),
      find_server_(std::move(find_server)),
      note_active_(std::move(note_active)),
      instance_(to_string(RandomIdSource().next_span_id())),
      reports_(server_, find_server_, report_time(settings_.lease_ms)),
      results_(server_, find_server_, answer_time),
      outputs_(server_, find_server_, answer_time),
      questions_(server_, find_server_, answer_time),
      uploads_(
          artifacts, is_reached_here(server_),
          [this](json::object params) {
            params["runner"] = work_.identity().runner;
            params["key"] = work_.identity().key;
            params["job_id"] = uploading_job_;
            return results_.call("runner.upload", params);
          },
          [this] {
            const std::lock_guard lock(mutex_);
            return stopping_;
          },
          log_) {}

Called<void> RunnerLink::register_runner() {
  if (!work_.identity().runner.empty()) return {};
  const auto given = TRY(reports_.call("runner.register", {{"name", settings_.name}}));
  TRY(work_.note_registration(text_at(given, "runner"), text_at(given, "key")));
  log_(/*ok=*/true, "registered as " + work_.identity().runner);
  return {};
}

RunnerReport RunnerLink::next_report() {
  RunnerReport report;
  const RunnerIdentity identity = work_.identity();
  report.runner = identity.runner;
  report.key = identity.key;
  report.start = identity.starts;
  report.number = ++number_;
  report.instance = instance_;
  report.labels = settings_.labels;
  report.repositories = settings_.repositories;
  report.slots = settings_.slots;
  report.lease_ms = settings_.lease_ms;
  report.jobs = jobs_.report();
  has_taken_ = has_taken_ || !report.jobs.empty();
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(outputs_sent_, [&report](const auto& sent) {
      return std::none_of(report.jobs.begin(), report.jobs.end(),
                          [&sent](const auto& job) { return job.job_id == sent.first; });
    });
  }
  report.drains = settings_.once && has_taken_;
  report.wait_ms = wants_bundles_ ? report_wait(settings_.lease_ms).count() : 0;
  report.version = program_version();
  return report;
}

Called<void> RunnerLink::exchange() {
  Backoff backoff(pause_min, pause_max);
  for (;;) {
    const auto registered = register_runner();
    const RunnerReport report = registered ? next_report() : RunnerReport{};
    auto answered = registered ? reports_.call("runner.exchange", to_json(report).as_object())
                               : Called<json::object>(tl::unexpected(registered.error()));
    if (answered) {
      refuse_unreadable_orders(*answered);
      const auto answer = from_json_of_any_version<RunnerAnswer>(std::move(*answered));
      if (!answer) return tl::unexpected(from_rejection(answer.error()));
      if (!trouble_.empty()) log_(/*ok=*/true, "the service answers again");
      trouble_.clear();
      away_since_.reset();
      note_active_(reports_.address().endpoints.front());
      backoff.reset();
      if (answer->drains != drains_) {
        log_(/*ok=*/true, answer->drains ? "takes no new jobs: it is drained" : "takes jobs again");
      }
      drains_ = answer->drains;
      {
        const std::lock_guard lock(mutex_);
        wants_bundles_ = answer->wants_bundles;
      }
      first_answered_.notify_one();
      has_given_up_ = false;
      jobs_.apply(*answer, report.jobs);
      if (!answer->outputs_wanted.empty()) {
        {
          const std::lock_guard lock(mutex_);
          outputs_wanted_.insert(answer->outputs_wanted.begin(), answer->outputs_wanted.end());
        }
        output_wanted_.notify_one();
      }
      if (!answer->removals.empty()) {
        {
          const std::lock_guard lock(mutex_);
          for (const auto& each : answer->removals) removals_.insert_or_assign(each.run_id, each);
          has_new_removals_ = true;
        }
        removal_wanted_.notify_one();
      }
      if (settings_.once && jobs_.done() > 0 && jobs_.size() == 0) return {};
      continue;
    }
    const std::string code = code_of(answered.error());
    if (code == "RUNNER_EVICTED" || code == "FORBIDDEN") return tl::unexpected(answered.error());
    note_away(answered.error());
    if (!pause(backoff.next())) return {};
  }
}

void RunnerLink::refuse_unreadable_orders(json::object& answer) {
  json::value* const orders = answer.if_contains("orders");
  if (orders == nullptr || !orders->is_array()) return;
  json::array readable;
  for (json::value& each : orders->get_array()) {
    const auto order = from_json<RunnerOrder>(each);
    if (order) {
      readable.push_back(std::move(each));
      continue;
    }
    const json::value* const job =
        each.is_object() ? each.get_object().if_contains("job") : nullptr;
    const std::string id =
        job != nullptr && job->is_object() ? text_at(job->get_object(), "id") : "";
    jobs_.refuse_unreadable(id, "this runner, of version " + program_version() +
                                    ", doesn't know what the service asks for: " +
                                    order.error().message + "; upgrade it");
  }
  *orders = std::move(readable);
}

void RunnerLink::note_away(const CallError& why) {
  const auto now = std::chrono::steady_clock::now();
  if (!away_since_) away_since_ = now;
  const std::string text = message_of(why);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
  if (text != trouble_) {
    std::string said = text + "; this runner goes on asking";
    // Whoever starts one with no token, or a wrong one, sees nothing else.
    if (code_of(why) == "UNAUTHENTICATED") {
      for (const std::string& next : next_commands_of(why)) said += "; try: " + next;
    }
    log_(/*ok=*/false, said);
  }
  trouble_ = text;
  if (now - *away_since_ < milliseconds(settings_.offline_ms_max) || jobs_.size() == 0) return;
  if (std::exchange(has_given_up_, true)) return;
  log_(/*ok=*/false, "the service has been away for too long (--offline-max): its jobs are ended");
  jobs_.cancel_all();
}

bool RunnerLink::wants_bundles() {
  const std::lock_guard lock(mutex_);
  return wants_bundles_.value_or(false);
}

// Else it would get jobs until its lease is over.
void RunnerLink::say_farewell() {
  if (work_.identity().runner.empty()) return;
  RunnerReport report = next_report();
  report.drains = true;
  report.wait_ms = 0;
  ServerAddress server = reports_.address();
  if (const auto found = find_server_()) server.secret = found->secret;
  (void)call_active(server, "runner.exchange", to_json(report).as_object(),
                    {.timeout = farewell_time, .takeover_time = farewell_time});
}

bool RunnerLink::pause(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, time, [this] { return stopping_; });
}

void RunnerLink::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  first_answered_.notify_all();
  output_wanted_.notify_all();
  removal_wanted_.notify_all();
  reports_.interrupt();
  results_.interrupt();
  outputs_.interrupt();
  questions_.interrupt();
  jobs_.stop();
}

}  // namespace signalbox
