#include "server/platform/exit_code.h"

#include <sysexits.h>

namespace signalbox {

int exit_code_of(const StoreError& error) {
  switch (error.kind) {
    case StoreError::Kind::damaged:
    case StoreError::Kind::unsupported:
    case StoreError::Kind::not_found:
    case StoreError::Kind::dropped:
    case StoreError::Kind::denied:
      return EX_CONFIG;
    case StoreError::Kind::in_use:
    case StoreError::Kind::rebuilding:
    case StoreError::Kind::away:
      return EX_TEMPFAIL;
    case StoreError::Kind::full:
    case StoreError::Kind::io:
      return EX_IOERR;
  }
  return EX_IOERR;
}

}  // namespace signalbox
