#include "tools/replay/other_program.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "domain/try.h"
#include "projections/world_digest.h"
#include "server/platform/child_process.h"
#include "server/text/time_text.h"
#include "tools/audit/audit_keys.h"
#include "tools/cli/json_fields.h"
#include "tools/replay/replay.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr int against_number = -32097;  // a client error; the others are in call_error.cc

CallError against_error(const char* code, ExitCode exit_code, const std::string& program,
                        const std::string& why, std::vector<std::string> next_commands) {
  CallError error;
  error.exit_code = exit_code;
  error.error["code"] = against_number;
  error.error["message"] = program + " " + why;
  error.error["data"] =
      json::object{{"code", code},
                   {"details", json::object{{"program", program}}},
                   {"next_commands", json::array(next_commands.begin(), next_commands.end())}};
  return error;
}

// A command that shows what the program itself says.
std::string ask_by_hand(const std::string& program, const std::filesystem::path& data) {
  return for_the_shell(program) + " replay --json --data " + for_the_shell(data.string());
}

// A directory for a key that is thrown away, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::error_code none;
    std::string name = (std::filesystem::temp_directory_path(none) / "signalbox-XXXXXX").string();
    if (!none && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

using Digests = std::map<Position, std::string>;

Digests digests_of(const json::object& result) {
  Digests digests;
  for (const json::value& each : array_at(result, "digests")) {
    if (!each.is_object()) continue;
    digests.emplace(number_at(each.as_object(), "position"),
                    text_at(each.as_object(), "state_digest"));
  }
  digests.emplace(number_at(result, "position"), text_at(result, "state_digest"));
  return digests;
}

// Requires that the program read the log up to the same end, and that it was the same log.
Called<void> require_same_log(const OtherProgram& other, const json::object& ours,
                              const json::object& theirs) {
  const Position end = number_at(ours, "position");
  if (!theirs.contains("position") || text_at(theirs, "state_digest").empty()) {
    return tl::unexpected(against_incomplete(
        other.name(), "answers without the position and the state digest at its end"));
  }
  if (number_at(theirs, "position") != end) {
    return tl::unexpected(against_other_log(
        other.name(),
        "replayed up to " + text_at(theirs, "position") + " instead of " + std::to_string(end)));
  }
  std::string root = text_at(theirs, "root");
  if (root.empty()) {
    auto asked = TRY(other.root(end));
    root = std::move(asked);
  }
  if (root == text_at(ours, "root")) return {};
  return tl::unexpected(against_other_log(
      other.name(), "replayed another log: the root of its tree at " + std::to_string(end) +
                        " is " + root + ", here it is " + text_at(ours, "root")));
}

Called<bool> same_at(const std::filesystem::path& data, const OtherProgram& other,
                     Position position) {
  ReplayRequest request;
  request.data = data;
  request.to = position;
  const auto ours = TRY(replay(request));
  const auto theirs = TRY(other.replay({"--to", std::to_string(position)}));
  if (!theirs) return tl::unexpected(against_unusable(other.name(), "doesn't know replay --to"));
  if (number_at(*theirs, "position") != position) {
    return tl::unexpected(
        against_incomplete(other.name(), "doesn't replay up to " + std::to_string(position)));
  }
  return to_hex(world_digest(ours.world)) == text_at(*theirs, "state_digest");
}

// Narrows down the first event after which the states differ: they are the same at `same`, and
// others at `differs`.
Called<Position> first_difference(const std::filesystem::path& data, const OtherProgram& other,
                                  Position same, Position differs) {
  while (same + 1 < differs) {
    const Position middle = same + (differs - same) / 2;
    const auto equal = TRY(same_at(data, other, middle));
    (equal ? same : differs) = middle;
  }
  return differs;
}

}  // namespace

CallError against_unusable(const std::string& program, const std::string& why) {
  return against_error("AGAINST_UNUSABLE", ExitCode::usage, program, why,
                       {for_the_shell(program) + " --version"});
}

CallError against_incomplete(const std::string& program, const std::string& why) {
  return against_error("AGAINST_INCOMPLETE", ExitCode::protocol, program, why,
                       {for_the_shell(program) + " --version"});
}

CallError against_other_log(const std::string& program, const std::string& why) {
  return against_error("AGAINST_OTHER_LOG", ExitCode::other_data, program, why,
                       {for_the_shell(program) + " --version"});
}

// The program gets a process group of its own, so that what it started is ended with it.
Called<std::optional<json::object>> OtherProgram::ask(std::vector<std::string> words) const {
  words.insert(words.begin(), program_);
  std::string output;
  bool too_long = false;
  auto child = ChildProcess::start(
      {.argv = std::move(words),
       .stdout_sink =
           [&](std::string_view bytes) {
             too_long = too_long || bytes.size() > limits::against_answer_bytes_max - output.size();
             if (!too_long) output += bytes;
           },
       .stderr_descriptor = STDERR_FILENO,
       .group = ChildProcess::Group::own});
  if (!child) {
    return tl::unexpected(
        against_unusable(program_, std::string("can't be run: ") + std::strerror(child.error())));
  }
  const bool answered = child->await_end(ChildProcess::now_ms() + deadline_ms_);
  child->end(limits::against_grace_ms);
  if (!answered) {
    return tl::unexpected(
        against_error("AGAINST_SILENT", ExitCode::unreachable, program_,
                      "gave no answer within " + format_duration_ms(deadline_ms_) +
                          " and was ended; a longer --against-deadline lets it work for longer",
                      {ask_by_hand(program_, data_)}));
  }
  const auto failed = [&](const std::string& why) {
    return tl::unexpected(against_error("AGAINST_FAILED", ExitCode::refused, program_, why,
                                        {ask_by_hand(program_, data_)}));
  };
  if (const auto signal = child->signal()) {
    return failed("was ended by signal " + std::to_string(*signal));
  }
  if (!child->exit_code()) return failed("can't be waited for");
  const int exit_code = *child->exit_code();
  if (exit_code == static_cast<int>(ExitCode::usage)) return std::optional<json::object>();
  const std::string with_code = " (exit code " + std::to_string(exit_code) + ")";
  if (too_long) {
    return failed("answers with more than " + std::to_string(limits::against_answer_bytes_max) +
                  " bytes" + with_code);
  }
  json::error_code wrong;
  const json::value answer = json::parse(output, wrong);
  if (wrong || !answer.is_object()) return failed("answers with no JSON object" + with_code);
  const json::object& object = answer.as_object();
  if (exit_code != 0 || !true_at(object, "ok")) {
    const std::string message = text_at(object_at(object, "error"), "message");
    return failed((message.empty() ? "doesn't say that its replay succeeded" : "says: " + message) +
                  with_code);
  }
  return std::optional(object_at(object, "result"));
}

Called<std::optional<json::object>> OtherProgram::replay(
    const std::vector<std::string>& more) const {
  std::vector<std::string> words{"replay", "--json", "--data", data_.string()};
  words.insert(words.end(), more.begin(), more.end());
  return ask(std::move(words));
}

Called<std::string> OtherProgram::root(Position size) const {
  const ScratchDirectory scratch;
  if (scratch.path().empty()) return tl::unexpected(io_error("can't make a temporary directory"));
  const std::string key = (scratch.path() / "comparison.key").string();
  TRY(make_key_file(key, "comparison"));
  const auto checkpoint = TRY(ask({"audit", "checkpoint", "--json", "--data", data_.string(),
                                   "--to", std::to_string(size), "--signing-key", key}));
  const std::string root = checkpoint ? text_at(*checkpoint, "root") : "";
  if (root.empty() || number_at(*checkpoint, "size") != size) {
    return tl::unexpected(against_incomplete(
        program_, "doesn't say which log it read: its answer has no root of the log's tree at " +
                      std::to_string(size)));
  }
  return root;
}

Called<std::size_t> compare_replay(const std::filesystem::path& data, const OtherProgram& other,
                                   const json::object& ours) {
  const std::string end = text_at(ours, "position");
  Digests expected = digests_of(ours);
  auto theirs = TRY(other.replay({"--to", end, "--digest-every", text_at(ours, "digest_every")}));
  if (!theirs) {
    auto at_end = TRY(other.replay({"--to", end}));
    theirs = std::move(at_end);
    expected = {{number_at(ours, "position"), text_at(ours, "state_digest")}};
  }
  if (!theirs) return tl::unexpected(against_unusable(other.name(), "doesn't know replay --to"));
  TRY(require_same_log(other, ours, *theirs));
  const Digests their_digests = digests_of(*theirs);
  Position same = number_at(ours, "folded_after");
  for (const auto& [position, digest] : expected) {
    const auto their_digest = their_digests.find(position);
    if (their_digest == their_digests.end() || their_digest->second.empty()) {
      return tl::unexpected(against_incomplete(
          other.name(), "has no state digest at " + std::to_string(position) + ": it has " +
                            std::to_string(their_digests.size()) + ", and " +
                            std::to_string(expected.size()) + " have to be compared"));
    }
    if (their_digest->second == digest) {
      same = position;
      continue;
    }
    const auto differs = TRY(first_difference(data, other, same, position));
    return tl::unexpected(from_rejection(
        {ErrorCode::STORAGE_DAMAGED,
         other.name() + " has another state than this program after the event at " +
             std::to_string(differs),
         {{"position", static_cast<std::int64_t>(differs)}, {"program", other.name()}},
         {"signalbox replay --step --to " + std::to_string(differs)}}));
  }
  return expected.size();
}

}  // namespace signalbox
