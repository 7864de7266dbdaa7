#include "tools/deep_work/deep_command.h"

#include <csignal>

#include "domain/limits.h"
#include "server/executors/job_directory.h"
#include "server/executors/job_verdict.h"
#include "server/executors/process/supervision.h"
#include "server/platform/atomic_file.h"
#include "server/platform/child_process.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t output_bytes_max = 512 * 1024;
constexpr std::size_t error_text_bytes_max = 512;

DeepCommandEnd not_started(const StoreError& error) {
  DeepCommandEnd end;
  end.failure = {Outcome::failed, ErrorClass::transient, "JOB_STORAGE", error.message};
  return end;
}

// Returns the end of stderr, on one line.
std::string last_error_text(const std::filesystem::path& stderr_log, std::uint64_t bytes) {
  const auto kept = read_bounded_log(stderr_log, bytes, output_bytes_max);
  if (!kept) return {};
  std::string text = with_replacements(kept->tail.empty() ? kept->head : kept->tail);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  text = std::string(utf8_suffix(text, error_text_bytes_max));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

}  // namespace

void become_supervisor() {
  std::signal(SIGPIPE, SIG_IGN);
  become_reaper();
}

DeepCommandEnd run_deep_command(const DeepWorkPlace& place, const DeepCommand& command) {
  const JobDirectory job{place.job};
  const std::filesystem::path stdout_path = place.own() / (command.name + ".stdout.log");
  const std::filesystem::path stderr_path = place.own() / (command.name + ".stderr.log");
  if (auto made = make_directories(place.own()); !made) return not_started(made.error());
  auto stdout_log = BoundedLog::create(stdout_path);
  if (!stdout_log) return not_started(stdout_log.error());
  auto stderr_log = BoundedLog::create(stderr_path);
  if (!stderr_log) return not_started(stderr_log.error());

  JobSpec spec;
  spec.argv = command.argv;
  spec.cwd = place.workspace.string();
  spec.timeout_ms = command.timeout_ms;
  spec.cancel_grace_ms = command.cancel_grace_ms;
  // As `job` is the shim's own directory, a cancel or a pause of the job also applies to its
  // commands.
  const ShimResult facts =
      run_supervised(spec, std::move(*stdout_log), std::move(*stderr_log), job);

  StationDefinition as_station;
  as_station.timeout_ms = command.timeout_ms;
  StoreError none;
  none.kind = StoreError::Kind::not_found;
  const JobVerdict verdict = job_verdict(as_station, facts, tl::unexpected(none), {});
  DeepCommandEnd end;
  end.outcome = verdict.outcome;
  end.failure = verdict.failure;
  end.canceled = facts.canceled;
  if (auto kept = read_bounded_log(stdout_path, facts.stdout_bytes, output_bytes_max)) {
    end.output_cut = !kept->whole();
    end.output = std::move(kept->head);
    (end.output_cut ? end.tail : end.output) += kept->tail;
  }
  if (end.outcome == Outcome::succeeded) return end;
  if (const std::string text = last_error_text(stderr_path, facts.stderr_bytes); !text.empty()) {
    end.failure.message = shortened(end.failure.message + ": " + text, limits::reason_bytes_max);
  }
  return end;
}

}  // namespace signalbox
