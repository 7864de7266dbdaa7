// The errors of everything that is stored. These are operating errors: returned as values, and
// logged once where they are finally handled.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "domain/ids.h"

namespace signalbox {

struct StoreError {
  enum class Kind {
    damaged,      // bytes are not what was written: nothing may be served from them (exit 78)
    in_use,       // another process has locked the directory (exit 75)
    unsupported,  // written by a newer version, or nothing that this one can open (exit 78)
    full,         // no space left
    io,           // the outcome of the operation is unknown (exit 74)
    not_found,
    dropped,     // the record existed and was dropped; an archive has it
    rebuilding,  // a projection that is being computed from the log again: try again soon
    away,        // a store of objects that can't be reached or is overloaded: try again
    denied,      // a store of objects, or a cell, refuses the request, its credentials or its name
  };

  Kind kind = Kind::io;
  std::string message;    // one sentence: what is wrong, and where
  std::string file;       // that is concerned, if known
  Position position = 0;  // of the record that is concerned, if known
};

// Returns whether a call of something remote may succeed another time: it couldn't be reached, or
// its answer was lost.
inline bool is_outage(const StoreError& error) {
  return error.kind == StoreError::Kind::away || error.kind == StoreError::Kind::io;
}

template <class T>
using Stored = tl::expected<T, StoreError>;

inline tl::unexpected<StoreError> store_failure(StoreError::Kind kind, std::string message,
                                                std::string file = {}, Position position = 0) {
  return tl::unexpected(StoreError{kind, std::move(message), std::move(file), position});
}

}  // namespace signalbox
