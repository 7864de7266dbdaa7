// Why a command of the command line didn't do what it should: one shape, whether the server
// refused it or it failed on this side.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "store/store_error.h"

namespace signalbox {

// How a command ends, for scripts. The numbers above 2 are those of sysexits.h.
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

struct CallError {
  // As JSON-RPC errors are: {"code": number, "message", "data": {"code", "details", …}}.
  boost::json::object error;
  ExitCode exit_code = ExitCode::refused;
};

template <class T>
using Called = tl::expected<T, CallError>;

// What the server answered.
CallError refused_by_server(boost::json::object error);

// Failures of this side have names of their own, and numbers that the server never uses.
CallError usage_error(std::string message, std::vector<std::string> next_commands = {});
CallError unreachable(std::string message, std::vector<std::string> next_commands);
// The server is there and says nothing.
CallError timed_out(std::string message);
CallError io_error(std::string message);
CallError from_rejection(const Rejection& rejection);
CallError from_store_error(const StoreError& error);

// `data.code`, or "".
std::string code_of(const CallError& error);

// Parts of it, as far as they are there.
std::string message_of(const CallError& error);
std::vector<std::string> next_commands_of(const CallError& error);

// A word of a command to paste, in single quotes as a shell takes it.
std::string for_the_shell(std::string_view word);

// The message, what is wrong in detail, and what to try: for a person.
std::string describe(const CallError& error);

}  // namespace signalbox
