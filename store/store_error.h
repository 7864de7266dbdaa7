// What can go wrong with what is kept. Operating errors: returned as values, logged once at the
// rim.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "domain/ids.h"

namespace signalbox {

struct StoreError {
  enum class Kind {
    damaged,      // bytes are not what was written: nothing may be served from them (exit 78)
    in_use,       // another process has the directory (exit 75)
    unsupported,  // written by a newer version (exit 78)
    full,         // no space left
    io,           // the outcome of the operation is unknown (exit 74)
    not_found,
    dropped,  // it was there once; an archive has it now
  };

  Kind kind = Kind::io;
  std::string message;    // one sentence: what is wrong, and where
  std::string file;       // the file it concerns, if one is known
  Position position = 0;  // the record it concerns, if one is known
};

template <class T>
using Stored = tl::expected<T, StoreError>;

inline tl::unexpected<StoreError> store_failure(StoreError::Kind kind, std::string message,
                                                std::string file = {}, Position position = 0) {
  return tl::unexpected(StoreError{kind, std::move(message), std::move(file), position});
}

}  // namespace signalbox
