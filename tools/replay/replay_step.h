// `signalbox replay --step`: a debugger for the log. One command a line, from a terminal or a pipe.
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

  // Begins at `position` and does what the lines say until "quit" or their end; `prompt` where a
  // person types them. A line that is no command says which there are, and ends nothing. The error
  // is the log's.
  Called<void> run(std::istream& lines, std::ostream& out, Position position, bool prompt);

 private:
  struct Words;
  using Stepped = Called<std::string>;

  Stepped carry_out(std::string_view line);
  Stepped forward(const Words& words);
  Stepped back(const Words& words);
  Stepped go(const Words& words);
  Stepped next_of_stream(const Words& words);
  Stepped next_of_type(const Words& words);
  Stepped next_rejection();
  Stepped next_that(const std::function<bool(const Record&)>& wanted, const std::string& what);
  Stepped show_state(const Words& words);
  Stepped show_difference(const Words& words);
  Stepped move_to(Position position);
  [[nodiscard]] std::string shown(const WalkStep& step) const;

  ReplayWalk& walk_;
  const Terminal terminal_;
  Stream stream_;          // of the event that was shown last
  std::string last_line_;  // what an empty line repeats
};

}  // namespace signalbox
