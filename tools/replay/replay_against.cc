#include "tools/replay/replay_against.h"

#include <unistd.h>

#include <map>
#include <optional>
#include <vector>

#include <boost/json/parse.hpp>

#include "domain/try.h"
#include "projections/world_digest.h"
#include "server/platform/child_process.h"
#include "tools/cli/json_fields.h"
#include "tools/replay/replay.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using Digests = std::map<Position, std::string>;

struct ProgramResult {
  int exit_code = 0;
  std::string output;
};

CallError program_failed(const std::string& program, const std::string& why) {
  return from_rejection({ErrorCode::INTERNAL, program + " " + why, {{"program", program}}, {}});
}

// Runs the program and collects its stdout; its stderr is ours. Blocks until it has ended.
Called<ProgramResult> run_program(std::vector<std::string> argv) {
  const std::string program = argv.front();
  std::string output;
  auto child =
      ChildProcess::start({.argv = std::move(argv),
                           .stdout_sink = [&output](std::string_view bytes) { output += bytes; },
                           .stderr_descriptor = STDERR_FILENO,
                           .group = ChildProcess::Group::of_caller});
  if (!child) return tl::unexpected(program_failed(program, "can't be run"));
  child->await_end();
  if (const auto signal = child->signal()) {
    return tl::unexpected(
        program_failed(program, "was ended by signal " + std::to_string(*signal)));
  }
  if (!child->exit_code()) return tl::unexpected(program_failed(program, "can't be waited for"));
  return ProgramResult{*child->exit_code(), std::move(output)};
}

// Returns the result of `program replay --json …`; nothing if the program doesn't know an option.
Called<std::optional<json::object>> replay_of(const std::filesystem::path& data,
                                              const std::string& program,
                                              std::vector<std::string> more) {
  std::vector<std::string> argv{program, "replay", "--json", "--data", data.string()};
  argv.insert(argv.end(), more.begin(), more.end());
  const auto ended = TRY(run_program(std::move(argv)));
  if (ended.exit_code == static_cast<int>(ExitCode::usage)) return std::optional<json::object>();
  json::error_code wrong;
  const json::value answer = json::parse(ended.output, wrong);
  if (wrong || !answer.is_object() || ended.exit_code != 0) {
    const json::object none;
    const std::string message =
        wrong || !answer.is_object()
            ? "gave no answer"
            : "says: " + text_at(object_at(answer.get_object(), "error"), "message");
    return tl::unexpected(
        program_failed(program, message + " (exit code " + std::to_string(ended.exit_code) + ")"));
  }
  return std::optional(object_at(answer.get_object(), "result"));
}

Digests digests_of(const json::object& result) {
  Digests digests;
  for (const json::value& each : array_at(result, "digests")) {
    digests.emplace(number_at(each.get_object(), "position"),
                    text_at(each.get_object(), "state_digest"));
  }
  digests.emplace(number_at(result, "position"), text_at(result, "state_digest"));
  return digests;
}

Called<bool> same_at(const std::filesystem::path& data, const std::string& program,
                     Position position) {
  ReplayRequest request;
  request.data = data;
  request.to = position;
  const auto ours = TRY(replay(request));
  const auto theirs = TRY(replay_of(data, program, {"--to", std::to_string(position)}));
  if (!theirs) return tl::unexpected(program_failed(program, "doesn't know replay --to"));
  return to_hex(world_digest(ours.world)) == text_at(*theirs, "state_digest");
}

}  // namespace

Called<std::size_t> compare_replay(const std::filesystem::path& data, const std::string& program,
                                   const json::object& ours) {
  const std::string end = text_at(ours, "position");
  auto theirs =
      replay_of(data, program, {"--to", end, "--digest-every", text_at(ours, "digest_every")});
  if (theirs && !*theirs) theirs = replay_of(data, program, {"--to", end});
  if (!theirs) return tl::unexpected(theirs.error());
  if (!*theirs) return tl::unexpected(program_failed(program, "doesn't know replay --to"));
  const Digests our_digests = digests_of(ours);
  Position same = 0;
  std::optional<Position> differs;
  std::size_t compared = 0;
  for (const auto& [position, digest] : digests_of(**theirs)) {
    const auto our_digest = our_digests.find(position);
    if (our_digest == our_digests.end()) continue;
    ++compared;
    if (our_digest->second != digest) {
      differs = position;
      break;
    }
    same = position;
  }
  if (!differs) return compared;
  while (same + 1 < *differs) {
    const Position middle = same + (*differs - same) / 2;
    const auto equal = TRY(same_at(data, program, middle));
    if (equal) {
      same = middle;
    } else {
      differs = middle;
    }
  }
  return tl::unexpected(
      from_rejection({ErrorCode::STORAGE_DAMAGED,
                      program + " has another state than this program after the event at " +
                          std::to_string(*differs),
                      {{"position", static_cast<std::int64_t>(*differs)}, {"program", program}},
                      {"signalbox replay --step --to " + std::to_string(*differs)}}));
}

}  // namespace signalbox
