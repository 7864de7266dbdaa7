// The error of a command of the command line. It has one shape, that of a JSON-RPC error, whether
// the server refused the request or the client failed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <tl/expected.hpp>

#include "domain/error.h"
#include "store/store_error.h"
#include "tools/cli/connection_options.h"

namespace signalbox {

// The exit code of a command, for scripts. The numbers above 2 are those of sysexits.h.
enum class ExitCode : int {
  ok = 0,
  refused = 1,       // the server understood and refused; or the run that was watched failed
  usage = 2,         // the command line is wrong, or something that it names
  other_data = 65,   // what was compared is of another log
  unreachable = 69,  // no server answers
  io = 74,           // reading or writing failed; of a write, the outcome is unknown
  try_again = 75,    // overloaded, stopping, or in use by another process
  protocol = 76,     // another program answered with less than it was asked for
  not_allowed = 77,
  damaged = 78,  // bad configuration, or data that differ from what was written
};

struct CallError {
  // In the form of JSON-RPC 2.0: {"code": number, "message", "data": {"code", "details", …}}.
  boost::json::object error;
  ExitCode exit_code = ExitCode::refused;
};

template <class T>
using Called = tl::expected<T, CallError>;

// Takes the error object of the server's answer; the exit code follows from its `data.code`.
CallError refused_by_server(boost::json::object error);

// Make errors of the client: they have their own names (USAGE, NOT_REACHABLE, TIMED_OUT, IO_FAILED,
// IN_USE, STILL_IN_FLIGHT, CERTIFICATE_REFUSED), and numbers that the server never uses.
// `next_commands` are commands to try.
CallError usage_error(std::string message, std::vector<std::string> next_commands = {});
CallError unreachable(std::string message, std::vector<std::string> next_commands);
// For a server that accepts the connection but doesn't answer in time.
CallError timed_out(std::string message,
                    std::vector<std::string> next_commands = {"signalbox status"});
// For a wait for the end of everything that was given up.
CallError still_in_flight(std::string message);
// For a server that can't prove who it is. `reason` is one word; `names` are those that its
// certificate is for.
CallError certificate_refused(const char* reason, std::string message,
                              const std::vector<std::string>& names,
                              std::vector<std::string> next_commands);
// For several places of one server, at none of which it answered; one failure each, at least one.
CallError none_answered(std::vector<CallError> failures);
CallError io_error(std::string message, std::vector<std::string> next_commands = {});
CallError from_rejection(const Rejection& rejection);
CallError from_store_error(const StoreError& error);

// Returns a result of the store as one of a command, for TRY: its error is from_store_error().
template <class T>
Called<T> called(Stored<T> result) {
  return std::move(result).map_error(from_store_error);
}

// Returns `data.code`, or "".
std::string code_of(const CallError& error);

// Return parts of the error: the message, or the whole error as JSON without one; and the commands
// to try, possibly none.
std::string message_of(const CallError& error);
std::vector<std::string> next_commands_of(const CallError& error);

// Quotes a word for a POSIX shell, in single quotes, for commands that can be pasted.
std::string for_the_shell(std::string_view word);

// Formats the error for a person: the message with its code, then a line for each command to try,
// with the options that were typed.
std::string describe(const CallError& error, const ConnectionOptions& typed);

}  // namespace signalbox
