#include "tools/replay/replay_step.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <sstream>

#include "domain/try.h"
#include "server/rpc/record_json.h"
#include "server/text/separated_text.h"
#include "store/codec.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/replay/change_list.h"
#include "tools/views/event_view.h"

namespace signalbox {
namespace {

constexpr const char* help_text =
    "next [N]       the next event, or N on; an empty line repeats the last command\n"
    "back [N]       the one before, or N back\n"
    "go POSITION    to a position; `go end` to the last\n"
    "run [ID]       the next event of that run, or of what the event shown is about\n"
    "of STREAM      the next event of a stream: lock/KEY, tick/LOOP, card/ID, project/NAME, "
    "server\n"
    "type TYPE      the next event of a type, such as RunFailed\n"
    "rejection      the next event that records a refusal or a loss\n"
    "state [STREAM] the whole state of what the event is about, or of a stream\n"
    "diff POSITION  what is different there\n"
    "quit\n"
    "The first letter of each is enough.\n";

bool is_rejection(const Record& record) {
  return event_as<AccessDenied>(record.event) != nullptr ||
         event_as<StationRejected>(record.event) != nullptr ||
         event_as<LockRefreshFailed>(record.event) != nullptr ||
         event_as<PolicyRefused>(record.event) != nullptr ||
         event_as<TickSkipped>(record.event) != nullptr;
}

}  // namespace

struct ReplayStep::Words {
  std::string command;
  std::string argument;  // or empty

  explicit Words(std::string_view line) {
    std::istringstream words{std::string(line)};
    words >> command >> argument;
  }
  [[nodiscard]] std::optional<Position> number() const { return whole_number<Position>(argument); }
  // Returns whether the command is this word or its first letter.
  [[nodiscard]] bool is(std::string_view word) const {
    return command == word || (command.size() == 1 && command[0] == word[0]);
  }
};

Called<void> ReplayStep::run(std::istream& lines, std::ostream& out, Position position,
                             bool prompt) {
  const auto print = [&](const Output& output) -> Called<void> {
    out << TRY(output) << std::flush;
    return {};
  };
  TRY(print(move_to(position)));
  for (std::string line;;) {
    if (prompt) out << "(" << walk_.position() << " of " << walk_.tail() << ") " << std::flush;
    if (!std::getline(lines, line)) return {};
    if (line.find_first_not_of(" \t\r") == std::string::npos) line = last_line_;
    last_line_ = line;
    const Words words(line);
    if (words.is("quit")) return {};
    if (words.command.empty()) continue;
    TRY(print(execute(line)));
  }
}

ReplayStep::Output ReplayStep::execute(std::string_view line) {
  const Words words(line);
  if (words.is("next")) return forward(words);
  if (words.is("back") || words.is("previous")) return back(words);
  if (words.is("go")) return go(words);
  if (words.command == "rejection" || words.command == "x") return next_rejection();
  if (words.is("run") || words.is("of")) return next_of_stream(words);
  if (words.is("type")) return next_of_type(words);
  if (words.is("state")) return show_state(words);
  if (words.is("diff")) return show_difference(words);
  if (words.is("help") || words.command == "?") return help_text;
  return "there is no " + words.command + "; there are:\n" + help_text;
}

ReplayStep::Output ReplayStep::forward(const Words& words) {
  if (!words.argument.empty() && !words.number()) return "next takes a number of events\n";
  const Position count = words.number().value_or(1);
  if (walk_.position() == walk_.tail()) return "this is the last event of the log\n";
  return move_to(walk_.position() + std::min(count, walk_.tail() - walk_.position()));
}

ReplayStep::Output ReplayStep::back(const Words& words) {
  if (!words.argument.empty() && !words.number()) return "back takes a number of events\n";
  if (walk_.position() == 0) return "this is before the first event of the log\n";
  return move_back_to(walk_.position() - std::min(words.number().value_or(1), walk_.position()));
}

ReplayStep::Output ReplayStep::go(const Words& words) {
  if (words.argument == "end") return move_to(walk_.tail());
  const auto position = words.number();
  if (!position || *position > walk_.tail()) {
    return "go takes a position from 0 to " + std::to_string(walk_.tail()) + ", or `end`\n";
  }
  return move_back_to(*position);
}

ReplayStep::Output ReplayStep::next_of_stream(const Words& words) {
  Stream stream = stream_;
  if (!words.argument.empty()) {
    const bool is_run = words.is("run");
    const auto named = parse_stream(is_run ? "run/" + words.argument : words.argument);
    if (!named) {
      return is_run ? words.argument + " is not the id of a run\n"
                    : words.argument + " is not a stream such as lock/KEY or server\n";
    }
    stream = *named;
  }
  return next_matching([&stream](const Record& record) { return record.stream == stream; },
                       "event of " + to_string(stream));
}

ReplayStep::Output ReplayStep::next_of_type(const Words& words) {
  const auto tags = event_tags();
  const bool known = std::any_of(tags.begin(), tags.end(), [&words](const EventTag& tag) {
    return tag.name == words.argument;
  });
  if (!known)
    return "there is no type " + words.argument + "; they are called as here, RunFailed\n";
  return next_matching(
      [&words](const Record& record) { return tag_of(record.event).name == words.argument; },
      words.argument);
}

ReplayStep::Output ReplayStep::next_rejection() { return next_matching(is_rejection, "rejection"); }

ReplayStep::Output ReplayStep::next_matching(const std::function<bool(const Record&)>& wanted,
                                             const std::string& what) {
  const auto found = TRY(called(walk_.find(wanted)));
  if (!found) return "there is no further " + what + "\n";
  stream_ = found->record.stream;
  return shown(*found);
}

ReplayStep::Output ReplayStep::show_state(const Words& words) {
  Stream stream = stream_;
  if (!words.argument.empty()) {
    const auto named = parse_stream(words.argument);
    if (!named) return words.argument + " is not a stream such as run/ID, lock/KEY or server\n";
    stream = *named;
  }
  const auto state = noun_state(walk_.world(), stream);
  if (!state) return "there is no " + to_string(stream) + " here\n";
  std::string text = styled(terminal_, Style::strong, printable(to_string(stream))) + "\n";
  for (const FieldDifference& field : differences(std::nullopt, state)) {
    text += "  " + printable(field.field) + " = " + printable(field.after) + "\n";
  }
  return text;
}

ReplayStep::Output ReplayStep::show_difference(const Words& words) {
  const auto other = words.number();
  if (!other || *other > walk_.tail()) {
    return "diff takes a position from 0 to " + std::to_string(walk_.tail()) + "\n";
  }
  if (const auto dropped = walk_.why_dropped(*other)) return dropped->message + "\n";
  const Position here = walk_.position();
  const auto found = TRY(world_difference(walk_, std::min(here, *other), std::max(here, *other)));
  TRY(called(walk_.go(here)));
  return view_world_difference(printable_fields(found), terminal_);
}

// A position that isn't in the log any more is no reason to end the session.
ReplayStep::Output ReplayStep::move_back_to(Position position) {
  if (const auto dropped = walk_.why_dropped(position)) return dropped->message + "\n";
  return move_to(position);
}

ReplayStep::Output ReplayStep::move_to(Position position) {
  const auto step = TRY(called(walk_.go(position)));
  if (!step) return std::string("before the first event\n");
  stream_ = step->record.stream;
  return shown(*step);
}

std::string ReplayStep::shown(const WalkStep& step) const {
  std::string text = event_line(record_to_json(step.record), terminal_, wall_clock_ns());
  if (step.changes.empty()) {
    return text + styled(terminal_, Style::faint, "         changes no state\n");
  }
  return text + view_differences(step.changes, terminal_);
}

}  // namespace signalbox
