// The error for what a newer version of the program wrote.
#pragma once

#include <string>

#include "store/store_error.h"

namespace signalbox {

// Returns it; `what` is what this version doesn't know, and `position` that of its record, if it is
// known.
inline tl::unexpected<StoreError> newer_version_failure(const std::string& what,
                                                        Position position = 0) {
  return store_failure(StoreError::Kind::unsupported,
                       what +
                           ": a newer version of signalbox wrote this; nothing is damaged and "
                           "nothing was changed: install that version or a newer one",
                       {}, position);
}

}  // namespace signalbox
