// One use of the command line: the options that all commands share, and how a command is run and
// its result printed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"
#include "tools/cli/command_line.h"
#include "tools/cli/connection_options.h"
#include "tools/cli/server_address.h"
#include "tools/cli/terminal.h"

namespace signalbox {

class PastDirectory;

struct Invocation {
  bool json = false;
  bool is_service = false;        // the command serves
  bool full = false;              // --full: the width of the terminal doesn't matter
  std::string data;               // --data, or empty
  std::string socket;             // --socket, or empty
  std::string server;             // --server, or empty
  std::string token_file;         // --token-file, or empty
  std::string ca;                 // --ca, or empty
  std::optional<std::string> at;  // --at; none: queries are about the present

  // Returns whether queries are about a moment of the past.
  [[nodiscard]] bool is_about_past() const { return at.has_value(); }

  // Answers queries with --at from the data directory; opened by the first one.
  mutable std::shared_ptr<PastDirectory> past;
  // The position that a server took --at for in its first answer: later queries are about the same.
  mutable std::string past_position;
  // UTC: when the last event until then was recorded. Known after the first answer for people.
  mutable std::optional<std::int64_t> past_time_ns;
  // Whether it was said that ages count from the end of a stopped log.
  mutable bool is_age_origin_said = false;

  // The words after "--", for a command that runs another.
  std::optional<std::vector<std::string>> command_words;

  std::string command_name;  // the words of the command, such as "run list"
  // All words of the command line, beginning with the program's name.
  char** words = nullptr;

  // Returns the options that were typed to say which service is meant.
  [[nodiscard]] ConnectionOptions connection() const {
    return {data, socket, server, ca, token_file};
  }
  // A usage error with --at, of a command that takes no moment: it `why`, such as "asks a server".
  [[nodiscard]] Called<void> require_present(const std::string& why) const;
  // Returns --data, else SIGNALBOX_DATA, else signalbox/ in the user's state directory. Absolute.
  [[nodiscard]] std::filesystem::path data_directory() const;
  // Returns --socket, else SIGNALBOX_SOCKET (unless --data is given), else signalbox.sock in the
  // data directory. Absolute.
  [[nodiscard]] std::filesystem::path socket_path() const;
  // Returns --server, else (unless --socket or --data is given) SIGNALBOX_SERVER, else the socket.
  // The secret is the access token in --token-file, else in SIGNALBOX_ACCESS_TOKEN, if there is
  // one; the authorities are those in --ca, else in SIGNALBOX_CA. A usage error with --at, for an
  // address that can't be parsed or a token file without a token.
  [[nodiscard]] Called<ServerAddress> server_address() const;
  // Returns the address of the server that answers queries with --at: as server_address() if the
  // command line or the environment names a server, or a socket and no data directory; nullopt if
  // the data directory answers them.
  [[nodiscard]] Called<std::optional<ServerAddress>> past_server_address() const;
};

// Adds the options that every command has.
void add_shared_options(ToolCommand app, Invocation& invocation);

// Parses the command line and runs its command, or prints the usage error. Returns the exit code.
int run(CommandLine& line, Invocation& invocation, int argc, char** argv);

// Describes stdout for output that tables and long lines are fitted into: with --full nothing is.
Terminal output_terminal(const Invocation& invocation);

// Formats a result for people.
using View = std::function<std::string(const boost::json::object& result, const Terminal&)>;

// Prints the result of a command and returns its exit code. With --json it prints exactly one
// object on stdout, {"ok": …}; else the view on stdout, or the error on stderr.
ExitCode answer(const Invocation& invocation, const Called<boost::json::object>& result,
                const View& view);

// Writes to stdout and flushes it; ends the process with ExitCode::io if that fails.
void write_out(std::string_view text);

// Prints the object as one line of JSON, as write_out() does. A terminal gets escapes in place of
// the control characters of others: the same JSON, which it only shows.
void write_json(const boost::json::object& object);

// Prints the object in this way on stderr, in one line however wide the terminal is.
void write_json_message(const boost::json::object& object);
// Writes a message for people to stderr.
void write_message(std::string_view text);

}  // namespace signalbox
