// The exit code of a service that something stored keeps from going on.
#pragma once

#include "store/store_error.h"

namespace signalbox {

// Returns the exit code for this error, of sysexits.h. The service manager starts a service that
// ended with 78 (EX_CONFIG) not again, since it would end so again: a person has to do something.
int exit_code_of(const StoreError& error);

}  // namespace signalbox
