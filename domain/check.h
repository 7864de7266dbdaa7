// SIGNALBOX_CHECK: an assertion that only a bug in this program can violate. It is on in release
// builds, too.
//
// It is not for bad input (that is a Rejection) and not for a failing disk (that is an operating
// error). It aborts the process, because a state machine that is wrong must not go on writing.
#pragma once

namespace signalbox {

// Prints the violated `fact` and its place to stderr, and aborts the process.
[[noreturn]] void check_failed(const char* file, int line, const char* fact);

}  // namespace signalbox

#define SIGNALBOX_CHECK(fact)                     \
  (static_cast<bool>(fact) ? static_cast<void>(0) \
                           : ::signalbox::check_failed(__FILE__, __LINE__, #fact))
