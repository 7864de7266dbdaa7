// `signalbox replay`: folds the log without a server; with --step, --against and --what-if also the
// debugger, the comparison with another version, and the simulation of another policy.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "projections/world_digest.h"
#include "server/rpc/record_json.h"
#include "server/text/separated_text.h"
#include "server/text/time_text.h"
#include "tools/audit/capsule_replay.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/past_call.h"
#include "tools/cli/text_table.h"
#include "tools/replay/other_program.h"
#include "tools/replay/replay.h"
#include "tools/replay/replay_step.h"
#include "tools/replay/what_if_command.h"
#include "tools/views/event_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr Position against_digest_every = 10'000;

struct ReplayOptions {
  std::string until;           // --to, as it was given
  std::optional<Position> to;  // the position of `until` in this log
  std::optional<std::string> run_id;
  bool from_snapshot = false;
  bool verify = false;
  bool step = false;
  Position digest_every = 0;
  std::string against;
  std::string against_deadline = "10m";
  CapsuleReplay capsule;
  WhatIfOptions what_if;
};

// Sets options.to from options.until: a position, for which the log isn't opened, or another moment
// as for --at and --from.
Called<void> find_end(const Invocation& invocation, ReplayOptions& options) {
  if (options.until.empty()) return {};
  if (const auto position = whole_number<Position>(options.until)) {
    options.to = *position;
    return {};
  }
  const auto log =
      TRY(called(RocksEventLog::open(invocation.data_directory(), {.read_only = true})));
  const auto found = TRY(position_of_moment(invocation, *log, options.until));
  if (found == 0) {
    return tl::unexpected(
        usage_error("--to " + options.until + " is before the log's first record"));
  }
  options.to = found;
  return {};
}

std::uint64_t rate(const Replayed& replayed) {
  if (replayed.seconds <= 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(replayed.events) / replayed.seconds);
}

json::object replayed_json(const Replayed& replayed, const ReplayOptions& options) {
  json::object result;
  result["position"] = replayed.world.position;
  result["state_digest"] = to_hex(world_digest(replayed.world));
  if (replayed.root) result["root"] = to_hex(*replayed.root);
  result["events"] = replayed.events;
  result["events_per_second"] = rate(replayed);
  result["seconds"] = replayed.seconds;
  result["folded_after"] = replayed.from;
  result["incarnation"] = replayed.world.server.incarnation;
  result["open_runs"] = replayed.world.runs.size();
  result["ready_stations"] = replayed.world.ready.size();
  result["tail"] = replayed.report.tail;
  result["anchor"] = replayed.report.anchor;
  result["torn_bytes"] = replayed.report.torn_bytes;
  result["verified"] = options.verify;
  if (replayed.snapshot_compared) result["snapshot_compared"] = *replayed.snapshot_compared;
  if (options.digest_every != 0) {
    json::array digests;
    for (const auto& [position, digest] : replayed.digests) {
      digests.push_back({{"position", position}, {"state_digest", to_hex(digest)}});
    }
    result["digest_every"] = options.digest_every;
    result["digests"] = std::move(digests);
  }
  return result;
}

Called<json::object> run_replay(const Invocation& invocation, const ReplayOptions& options) {
  ReplayRequest request{
      invocation.data_directory(), options.to, options.from_snapshot, options.verify, {},
      options.digest_every};
  json::array records;
  if (options.run_id) {
    const auto run_id = parse_uuid(*options.run_id);
    if (!run_id) return tl::unexpected(usage_error("not the id of a run: " + *options.run_id));
    request.visit = [&records, stream = Stream::run(*run_id)](const Record& record) {
      if (record.stream == stream) records.push_back(record_to_json(record));
    };
  }
  const auto replayed = TRY(replay(request));
  json::object result = replayed_json(replayed, options);
  if (options.run_id) {
    if (records.empty()) {
      return tl::unexpected(
          from_rejection({ErrorCode::RUN_NOT_FOUND,
                          "the log has no run " + *options.run_id + " up to there",
                          {},
                          {}}));
    }
    result["records"] = std::move(records);
  }
  return result;
}

// Replays the log with another version, too. The comparison shows whether that version can take the
// log over, or has done so correctly.
Called<json::object> run_against(const Invocation& invocation, ReplayOptions options) {
  if (options.run_id) return tl::unexpected(usage_error("--against is of the whole log"));
  const auto deadline_ms = parse_duration_ms(options.against_deadline);
  if (!deadline_ms || *deadline_ms < 1 || *deadline_ms > limits::against_deadline_ms_max) {
    return tl::unexpected(usage_error("--against-deadline must be a time from 1ms to 7d, such as " +
                                      format_duration_ms(limits::against_deadline_ms_default) +
                                      "; not " + options.against_deadline));
  }
  if (options.digest_every == 0) options.digest_every = against_digest_every;
  auto ours = run_replay(invocation, options);
  if (!ours) return ours;
  const auto equal = TRY(compare_replay(
      invocation.data_directory(),
      OtherProgram(invocation.data_directory(), options.against, *deadline_ms), *ours));
  (*ours)["against"] = options.against;
  (*ours)["digests_compared"] = equal;
  ours->erase("digests");
  return ours;
}

// Runs the debugger until its input ends. An error of the log is the command's answer.
ExitCode run_step(const Invocation& invocation, const ReplayOptions& options) {
  const auto fail = [&invocation](CallError error) {
    return answer(invocation, tl::unexpected(std::move(error)), {});
  };
  if (invocation.json)
    return fail(usage_error("--step is for people; `signalbox diff` has --json"));
  const auto data = invocation.data_directory();
  const auto log = RocksEventLog::open(data, {.read_only = true});
  if (!log) return fail(from_store_error(log.error()));
  const Position tail = (*log)->tail();
  const Position begin = options.to.value_or(options.run_id ? 0 : tail);
  if (begin > tail) return fail(usage_error("the log ends at " + std::to_string(tail)));
  ReplayWalk walk(**log, data);
  ReplayStep step(walk, terminal_of(STDOUT_FILENO));
  std::istringstream first(options.run_id ? "run " + *options.run_id + "\n" : "");
  if (options.run_id) {
    if (auto done = step.run(first, std::cout, begin, false); !done) return fail(done.error());
  }
  auto done = step.run(std::cin, std::cout, options.run_id ? walk.position() : begin,
                       ::isatty(STDIN_FILENO) == 1);
  return done ? ExitCode::ok : fail(std::move(done.error()));
}

std::string view_replay(const json::object& result, const Terminal& terminal) {
  std::string text;
  for (const json::value& record : array_at(result, "records")) {
    text += event_line(record.as_object(), terminal, wall_clock_ns());
  }
  if (!text.empty()) return text;
  const std::string torn = text_at(result, "torn_bytes");
  return named_values(
      {
          {"position", {text_at(result, "position")}},
          {"state digest", {text_at(result, "state_digest"), Style::strong}},
          {"events", {text_at(result, "events")}},
          {"events/s", {text_at(result, "events_per_second")}},
          {"incarnation", {text_at(result, "incarnation")}},
          {"open runs", {text_at(result, "open_runs")}},
          {"ready stations", {text_at(result, "ready_stations")}},
          {"log ends at", {text_at(result, "tail")}},
          {"torn tail", {torn == "0" ? "" : torn + " bytes, never acknowledged", Style::busy}},
          {"verified", {true_at(result, "verified") ? "every record, every file" : ""}},
          {"same snapshot", {text_at(result, "snapshot_compared")}},
          {"the same as", {text_at(result, "against"), Style::good}},
          {"same digests", {text_at(result, "digests_compared")}},
      },
      terminal);
}

}  // namespace

void add_replay_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command =
      app.add_subcommand("replay", "Replay the log offline: its state and digest");
  const auto options = std::make_shared<ReplayOptions>();
  add_capsule_options(command, options->capsule);
  command.add_option("--to", options->until, "Up to this position, time or age; default: the end")
      .type_name("MOMENT");
  command.add_option("--run", options->run_id, "Print this run's records instead");
  command.add_flag("--verify", options->verify,
                   "Check every file as well, and the newest snapshot against the log");
  command.add_flag("--from-snapshot", options->from_snapshot,
                   "Start at the newest snapshot instead of the first record");
  command.add_flag("--step", options->step,
                   "Step through the events like a debugger, forwards and backwards");
  command
      .add_option("--digest-every", options->digest_every,
                  "With --json: the state's digest every N events")
      .type_name("N");
  command
      .add_option("--against", options->against,
                  "Compare the digests with those of another signalbox on the same log, and find "
                  "the first event where they differ")
      .type_name("PROGRAM");
  command
      .add_option("--against-deadline", options->against_deadline,
                  "With --against: how long one answer of the other program may take")
      .type_name("TIME")
      .shows_default();
  command
      .add_option(
          "--what-if", options->what_if.policy,
          "Simulate the recorded work under this policy's limits, leases and retries, and compare")
      .type_name("POLICY.toml")
      .existing_file();
  command
      .add_option("--from", options->what_if.from,
                  "With --what-if: only work that arrived after this position, time or age")
      .type_name("MOMENT");
  command.add_option("--seed", options->what_if.seed,
                     "With --what-if: the seed for attempts drawn at random");
  command.add_option("--jobs-max", options->what_if.jobs_max,
                     "With --what-if: the limit of local jobs that was in force, as of `serve`");
  command.add_option("--remote-jobs-max", options->what_if.remote_jobs_max,
                     "With --what-if: the same of remote jobs");
  command
      .add_option("--config", options->what_if.config,
                  "With --what-if: the file with the settings that were in force, as of `serve`")
      .type_name("FILE");
  command
      .add_option("--board", options->what_if.board,
                  "With --what-if: a setting of [board] that was in force, over that of the file, "
                  "such as heartbeat=2m; repeatable")
      .type_name("KEY=VALUE")
      .repeatable();
  // --what-if excludes the other modes; these only apply to it.
  command.excludes("--what-if", {"--run", "--verify", "--step", "--against", "--digest-every",
                                 "--from-snapshot"});
  command.needs("--from", "--what-if");
  command.needs("--seed", "--what-if");
  command.needs("--jobs-max", "--what-if");
  command.needs("--remote-jobs-max", "--what-if");
  command.needs("--config", "--what-if");
  command.needs("--board", "--what-if");
  command.needs("--against-deadline", "--against");
  command.footer(
      "Reads only; the directory may be that of a running server. Checks every record;\n"
      "for a damaged log, exits with 78 and reports what is wrong and where.\n\n"
      "Examples:\n"
      "  signalbox replay --data ./box\n"
      "  signalbox replay --data ./box --to 1200 --json\n"
      "  signalbox replay --data ./box --to 8h\n"
      "  signalbox replay --data ./box --step\n"
      "  ./new/signalbox replay --data ./box --verify --against ./old/signalbox\n"
      "  signalbox replay --data ./box --what-if more-workers.toml --from 24h\n"
      "  signalbox replay --data ./box --what-if more-workers.toml --board heartbeat=2m\n"
      "  signalbox replay --data ./box --run \"$run\"\n"
      "  signalbox replay run.capsule --key @audit.vkey");
  command.action([options, &invocation] {
    if (!options->capsule.file.empty()) {
      return answer(invocation, replay_capsule(options->capsule), view_capsule);
    }
    if (auto found = find_end(invocation, *options); !found) {
      return answer(invocation, tl::unexpected(std::move(found.error())), {});
    }
    if (!options->what_if.policy.empty()) {
      options->what_if.to = options->to;
      return answer(invocation, run_what_if(invocation, options->what_if), view_what_if);
    }
    if (options->run_id) {
      auto whole = whole_run_id(invocation, *options->run_id);
      if (!whole) return answer(invocation, tl::unexpected(std::move(whole.error())), {});
      options->run_id = std::move(*whole);
    }
    if (options->step) return run_step(invocation, *options);
    if (!options->against.empty()) {
      return answer(invocation, run_against(invocation, *options), view_replay);
    }
    return answer(invocation, run_replay(invocation, *options), view_replay);
  });
}

}  // namespace signalbox
