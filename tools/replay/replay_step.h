// `signalbox replay --step`: a debugger for the log, with one command a line, from a terminal or a
// pipe.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "server/replay/replay_walk.h"
#include "tools/cli/call_error.h"
#include "tools/cli/terminal.h"

namespace signalbox {

class ReplayStep {
 public:
  ReplayStep(ReplayWalk& walk, const Terminal& terminal) : walk_(walk), terminal_(terminal) {}

  // Shows the event at `position` and executes the commands until "quit" or the end of `lines`.
  // With `prompt`, prints a prompt before each. An unknown command prints the known ones. Fails
  // only with errors of the log.
  Called<void> run(std::istream& lines, std::ostream& out, Position position, bool prompt);

 private:
  struct Words;
  using Output = Called<std::string>;

  Output execute(std::string_view line);
  Output forward(const Words& words);
  Output back(const Words& words);
  Output go(const Words& words);
  Output next_of_stream(const Words& words);
  Output next_of_type(const Words& words);
  Output next_rejection();
  Output next_matching(const std::function<bool(const Record&)>& wanted, const std::string& what);
  Output show_state(const Words& words);
  Output show_difference(const Words& words);
  Output move_back_to(Position position);
  Output move_to(Position position);
  [[nodiscard]] std::string shown(const WalkStep& step) const;

  ReplayWalk& walk_;
  const Terminal terminal_;
  Stream stream_;          // of the event that was shown last
  std::string last_line_;  // repeated by an empty line
};

}  // namespace signalbox
