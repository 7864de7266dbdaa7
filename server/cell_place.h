// The place of a server in its cell: what one Server after another is given (serve_in_cell.cc).
#pragma once

#include <functional>
#include <string>

#include "server/cell/cell_member.h"

namespace signalbox {

// What a server needs to be one of a cell.
struct CellPlace {
  CellSettings settings;
  ReplicatedEventLog& log;              // over the log that was recovered
  CellMember::Connections connections;  // taken by the member
  // Returns the name of the signal to stop that has come, maybe before there was a Server; "":
  // none.
  std::function<std::string()> stop_signal;
};

}  // namespace signalbox
