// One use of the command line: what all commands share, and the one that was chosen.
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
#include "tools/cli/server_address.h"
#include "tools/cli/terminal.h"

namespace signalbox {

class PastDirectory;

struct Invocation {
  bool json = false;
  std::string data;        // --data, or empty
  std::string socket;      // --socket, or empty
  std::string server;      // --server, or empty
  std::string token_file;  // --token-file, or empty
  std::string at;          // --at, or empty: queries are about the present

  // What answers queries about the past, from the first one on.
  mutable std::shared_ptr<PastDirectory> past;

  // What stands after "--", word by word, for a command that runs another.
  std::optional<std::vector<std::string>> command_words;

  // All words of the command line, from the program's name on.
  char** words = nullptr;

  // --data, else SIGNALBOX_DATA, else signalbox/ in the user's state directory. Absolute.
  [[nodiscard]] std::filesystem::path data_directory() const;
  // --socket, else SIGNALBOX_SOCKET (unless --data is given), else signalbox.sock in the data
  // directory.
  [[nodiscard]] std::filesystem::path socket_path() const;
  // --server, else (unless --socket or --data is given) SIGNALBOX_SERVER, else the socket; with the
  // access token in --token-file, else in SIGNALBOX_ACCESS_TOKEN, if there is one.
  [[nodiscard]] Called<ServerAddress> server_address() const;
};

// The options that every command has.
void add_shared_options(ToolCommand app, Invocation& invocation);

// Reads the command line and does what it says, or says what is wrong with it; gives the exit code.
int run(CommandLine& line, Invocation& invocation, int argc, char** argv);

// Text for a person, made from a result.
using View = std::function<std::string(const boost::json::object& result, const Terminal&)>;

// Ends a command: under --json exactly one object on stdout, {"ok": …}; else the view on stdout,
// or what went wrong on stderr.
ExitCode answer(const Invocation& invocation, const Called<boost::json::object>& result,
                const View& view);

// Writes to stdout at once; ends the process with ExitCode::io where that fails.
void write_out(std::string_view text);
// A message for a person.
void write_message(std::string_view text);

}  // namespace signalbox
