// How a command ends, for scripts. The numbers above 2 are those of sysexits.h.
#pragma once

namespace signalbox {

enum class ExitCode : int {
  ok = 0,
  refused = 1,       // the server understood and said no; or the run that was watched failed
  usage = 2,         // the command line, or what it names, is wrong
  unreachable = 69,  // no server answers
  io = 74,           // reading or writing failed; of a write, the outcome is unknown
  try_again = 75,    // overloaded, stopping, or somebody else is at it
  not_allowed = 77,
  damaged = 78,  // bad configuration, or data that is not what was written
};

}  // namespace signalbox
