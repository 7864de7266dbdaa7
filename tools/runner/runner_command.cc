#include "tools/runner/runner_command.h"

#include <csignal>
#include <memory>
#include <thread>

#include "domain/limits.h"
#include "domain/placement.h"
#include "domain/try.h"
#include "server/limits.h"
#include "server/platform/host_name.h"
#include "server/platform/logging.h"
#include "server/platform/private_directory.h"
#include "server/text/time_text.h"
#include "tools/cli/absolute_path.h"
#include "tools/runner/job_relay.h"
#include "tools/runner/runner_execution.h"
#include "tools/runner/runner_link.h"

namespace signalbox {
namespace {

struct RunnerOptions {
  std::string work;
  std::string name;
  std::vector<std::string> labels;
  std::vector<std::string> repositories;
  int slots = 4;
  std::string lease = "60s";
  std::string offline_max = "1h";
  bool once = false;
};

// The host's name as far as a runner's may have its characters.
std::string name_of_host() {
  std::string name;
  for (const char c : host_name()) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (name.size() < limits::runner_name_bytes_max && is_runner_label(name + lower)) name += lower;
  }
  return name.empty() ? "runner" : name;
}

Called<std::int64_t> duration(const char* option, const std::string& text, std::int64_t min_ms,
                              std::int64_t max_ms) {
  const auto ms = parse_duration_ms(text);
  if (ms && *ms >= min_ms && *ms <= max_ms) return *ms;
  return tl::unexpected(usage_error(std::string(option) + " is a duration from " +
                                    format_duration_ms(min_ms) + " to " +
                                    format_duration_ms(max_ms) + "; not " + text));
}

// "PATH" is the same path on both machines; "THERE=HERE" are that of the service's and ours.
Called<RunnerRepositories> repositories_of(const std::vector<std::string>& words) {
  RunnerRepositories repositories;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    std::string there = word.substr(0, equals);
    const std::string here = equals == std::string::npos ? there : word.substr(equals + 1);
    if (there.empty() || there.front() != '/' || here.empty()) {
      return tl::unexpected(
          usage_error("--repository is PATH or THERE=HERE, where THERE is the absolute path by "
                      "which the runs of "
                      "the service name it; not " +
                      word));
    }
    const std::string place = TRY(absolute_path("--repository", here));
    if (std::error_code unknown; !std::filesystem::is_directory(place, unknown)) {
      return tl::unexpected(
          usage_error("--repository " + word + ": there is no directory " + place));
    }
    while (there.size() > 1 && there.back() == '/') there.pop_back();
    repositories[there] = place;
  }
  if (repositories.size() > limits::runner_repositories_max) {
    return tl::unexpected(usage_error("a runner has at most " +
                                      std::to_string(limits::runner_repositories_max) +
                                      " repositories"));
  }
  return repositories;
}

Called<RunnerSettings> settings_of(const RunnerOptions& options) {
  constexpr std::int64_t hour_ms = 60 * 60 * 1000;
  RunnerSettings settings;
  settings.name = options.name.empty() ? name_of_host() : options.name;
  settings.labels = options.labels;
  settings.slots = options.once ? 1 : options.slots;
  settings.once = options.once;
  settings.lease_ms = TRY(
      duration("--lease", options.lease, limits::runner_lease_ms_min, limits::runner_lease_ms_max));
  settings.offline_ms_max =
      TRY(duration("--offline-max", options.offline_max, 1000, 7 * 24 * hour_ms));
  if (!is_runner_label(settings.name) || settings.name.size() > limits::runner_name_bytes_max) {
    return tl::unexpected(usage_error("--name is 1 to " +
                                      std::to_string(limits::runner_name_bytes_max) +
                                      " of a-z, 0-9, '.', '_' and '-'; not " + settings.name));
  }
  if (settings.labels.size() > limits::runner_labels_max) {
    return tl::unexpected(usage_error("a runner has at most " +
                                      std::to_string(limits::runner_labels_max) + " labels"));
  }
  for (const std::string& label : settings.labels) {
    if (is_runner_label(label)) continue;
    return tl::unexpected(usage_error(
        "a label has 1 to " + std::to_string(limits::label_bytes_max) +
        " of a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit; not " + label));
  }
  return settings;
}

// How long a runner that was evicted waits for its jobs' ends, beyond their own time for it.
constexpr std::chrono::seconds eviction_patience{30};

// Returns what writes lines as the server's log has them, with troubles as warnings; it may be
// called by any thread.
RunnerLink::Log runner_log() {
  return [logger = make_logger("info", "auto")](bool ok, const std::string& text) {
    log_about(*logger, ok ? spdlog::level::info : spdlog::level::warn, {}, text);
  };
}

sigset_t stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  return signals;
}

// Calls link.stop() at the first signal, until `over` is set: then the caller sends it one.
void stop_on_signal(RunnerLink& link, const std::atomic<bool>& over,
                    const RunnerLink::Log& log_line) {
  const sigset_t signals = stop_signals();
  int signal = 0;
  while (::sigwait(&signals, &signal) != 0) {
  }
  if (!over) {
    log_line(/*ok=*/true,
             "stopping: its jobs go on, and the next start of this runner follows them");
  }
  link.stop();
}

// Ends the jobs of a runner that was evicted: they are done elsewhere, so none may go on unnoticed.
void end_jobs(RunnerJobs& jobs, const RunnerLink::Log& log_line) {
  jobs.cancel_all();
  for (const std::string& job_id : jobs.await_ends(eviction_patience)) {
    log_line(/*ok=*/false,
             "job " + job_id +
                 " hasn't ended yet, and may go on: kill what has SIGNALBOX_SPAN_ID=" +
                 jobs.span_of(job_id) + " in its environment");
  }
}

Called<void> run_runner(const Invocation& invocation, const RunnerOptions& options) {
  keep_owner_bits();
  const RunnerLink::Log log_line = runner_log();
  const ServerAddress server = TRY(invocation.server_address());
  RunnerSettings settings = TRY(settings_of(options));
  RunnerRepositories repositories = TRY(repositories_of(options.repositories));
  for (const auto& [there, here] : repositories) settings.repositories.push_back(there);
  // Before the first thread, so that no other one gets them.
  const sigset_t signals = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  RunnerWork work = TRY(RunnerWork::open(TRY(absolute_path("--work", options.work))));
  if (const std::string known = work.identity().runner;
      !known.empty() && !options.name.empty() && !known.starts_with(runner_id(options.name, ""))) {
    log_line(/*ok=*/true, "it stays " + known + ": --name is for a new --work");
  }
  const auto relay = TRY(JobRelay::listen(work.socket(), server, work.jobs()));
  RunnerJobs* known = nullptr;
  RunnerExecution execution(work, std::move(repositories), [&known](const std::string& job_id) {
    return known->secret_of(job_id);
  });
  RunnerJobs jobs(
      work, [&execution](const Job& job) { return execution.job_here(job); }, log_line,
      [&execution](JobReports reports) { return execution.make_runner(std::move(reports)); });
  known = &jobs;
  TRY(jobs.load());
  RunnerLink link(
      server, [&invocation] { return invocation.server_address(); },
      [&relay](const Endpoint& active) { relay->put_first(active); }, std::move(settings), work,
      jobs, execution.artifacts(), log_line);
  std::atomic<bool> over = false;
  std::thread waits_for_signal([&] { stop_on_signal(link, over, log_line); });
  std::thread sends([&] { link.send_results(); });
  std::thread tells([&] { link.send_outputs(); });
  RunnerRuns runs(
      work, [&jobs](const RunId& run_id) { return jobs.hold_jobs_of(run_id); }, log_line);
  std::thread cleans([&] { link.clean_up(runs); });
  auto ended = link.exchange();
  if (!ended && code_of(ended.error()) == "RUNNER_EVICTED") end_jobs(jobs, log_line);
  over = true;
  runs.stop();
  ::pthread_kill(waits_for_signal.native_handle(), SIGTERM);
  waits_for_signal.join();
  sends.join();
  tells.join();
  cleans.join();
  execution.stop();
  if (ended) link.say_farewell();
  return ended;
}

}  // namespace

void add_runner_options(ToolCommand runner, Invocation& invocation) {
  const auto options = std::make_shared<RunnerOptions>();
  runner
      .add_option(
          "--work", options->work,
          "The directory of its jobs, workspaces and identity; default: runner/ in the data "
          "directory")
      .type_name("DIR");
  runner.add_option("--name", options->name, "What it is called; default: the host's name")
      .type_name("NAME");
  runner
      .add_option("--labels", options->labels,
                  "What it has, as pipelines ask for it (runs_on); with commas, or repeatable")
      .type_name("LABEL")
      .list();
  runner
      .add_option("--repository", options->repositories,
                  "A repository that it has, by the path that runs name; with =PATH if it is "
                  "elsewhere here; repeatable")
      .type_name("PATH")
      .repeatable();
  runner.add_option("--slots", options->slots, "Jobs at a time")
      .range(1, static_cast<int>(limits::runner_slots_max))
      .shows_default();
  runner
      .add_option("--lease", options->lease,
                  "Without a word of it for so long, its jobs count as lost")
      .type_name("DURATION")
      .shows_default();
  runner
      .add_option("--offline-max", options->offline_max,
                  "How long its jobs go on while the service is away")
      .type_name("DURATION")
      .shows_default();
  runner.add_flag("--once", options->once, "Take one job and end after it");
  runner.footer(
      "It executes the jobs of the service at --server, with the access token of\n"
      "role runner in --token-file. SIGTERM ends it and not its jobs; the next start\n"
      "with the same --work follows them.\n\n"
      "Examples:\n"
      "  signalbox access issue build1 --role runner > runner.token\n"
      "  signalbox --server tls://box:7070 --token-file runner.token runner \\\n"
      "    --labels linux,gpu --slots 8 --work /var/lib/signalbox-runner");
  runner.action([options, &invocation] {
    if (options->work.empty()) options->work = (invocation.data_directory() / "runner").string();
    const auto ended = run_runner(invocation, *options);
    if (ended) return ExitCode::ok;
    return answer(invocation, tl::unexpected(ended.error()), {});
  });
}

}  // namespace signalbox
