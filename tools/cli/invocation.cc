#include "tools/cli/invocation.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <unistd.h>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/platform/environment_variable.h"
#include "server/text/printable_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_source.h"
#include "tools/cli/usage_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto result = std::filesystem::absolute(path, error);
  return error ? path : result.lexically_normal();
}

}  // namespace

std::filesystem::path Invocation::data_directory() const {
  if (!data.empty()) return absolute_path(data);
  if (const auto given = environment_variable("SIGNALBOX_DATA"); !given.empty())
    return absolute_path(given);
  if (const auto state = environment_variable("XDG_STATE_HOME"); !state.empty()) {
    return absolute_path(std::filesystem::path(state) / "signalbox");
  }
  const auto home = environment_variable("HOME");
  return absolute_path(std::filesystem::path(home.empty() ? "." : home) / ".local/state/signalbox");
}

std::filesystem::path Invocation::socket_path() const {
  if (!socket.empty()) return absolute_path(socket);
  if (data.empty()) {
    if (const auto given = environment_variable("SIGNALBOX_SOCKET"); !given.empty())
      return absolute_path(given);
  }
  return data_directory() / "signalbox.sock";
}

namespace {

// Reads the token from a file or the environment, never from an argument: other users can read
// arguments in /proc.
Called<std::string> access_secret(const std::string& token_file) {
  if (token_file.empty()) return environment_variable("SIGNALBOX_ACCESS_TOKEN");
  auto text = read_file(token_file);
  if (!text) return text;
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  if (text->empty()) return tl::unexpected(usage_error(token_file + " holds no access token"));
  return text;
}

// Returns where the server of an invocation is, whatever it is asked.
Called<ServerAddress> address_of(const Invocation& invocation) {
  auto secret = TRY(access_secret(invocation.token_file));
  std::string tcp = invocation.server;
  if (tcp.empty() && invocation.socket.empty() && invocation.data.empty()) {
    tcp = environment_variable("SIGNALBOX_SERVER");
  }
  auto address =
      tcp.empty() ? Called<ServerAddress>(invocation.socket_path()) : ServerAddress::parse(tcp);
  if (!address) return address;
  const std::string ca =
      invocation.ca.empty() ? environment_variable("SIGNALBOX_CA") : invocation.ca;
  if (!ca.empty()) address->ca = absolute_path(ca);
  // A job authenticates as itself at the server that runs it, and at no other.
  const std::string own_socket = environment_variable("SIGNALBOX_SOCKET");
  const bool is_own = address->is_unix() && !own_socket.empty() &&
                      address->endpoints.front().socket == absolute_path(own_socket);
  if (secret.empty() && is_own) secret = environment_variable("SIGNALBOX_JOB_TOKEN");
  address->secret = std::move(secret);
  return address;
}

}  // namespace

Called<void> Invocation::require_present(const std::string& why) const {
  if (!is_about_past()) return {};
  return tl::unexpected(usage_error("--at is for queries; this " + why));
}

Called<ServerAddress> Invocation::server_address() const {
  TRY(require_present("asks a running server"));
  return address_of(*this);
}

Called<std::optional<ServerAddress>> Invocation::past_server_address() const {
  bool names_server = !server.empty() || !socket.empty();
  if (data.empty()) {
    names_server = names_server || !environment_variable("SIGNALBOX_SERVER").empty() ||
                   (environment_variable("SIGNALBOX_DATA").empty() &&
                    !environment_variable("SIGNALBOX_SOCKET").empty());
  }
  if (!names_server) return std::nullopt;
  return TRY(address_of(*this));
}

void add_shared_options(ToolCommand app, Invocation& invocation) {
  app.add_option("--data", invocation.data,
                 "The data directory [SIGNALBOX_DATA, else $XDG_STATE_HOME/signalbox, else "
                 "~/.local/state/signalbox]")
      .type_name("DIR")
      .not_empty();
  app.add_option("--socket", invocation.socket,
                 "The server's socket [SIGNALBOX_SOCKET, else <data>/signalbox.sock]")
      .type_name("PATH")
      .not_empty();
  app.add_option("--server", invocation.server,
                 "The server over the network, tls://HOST:PORT, or tcp://HOST:PORT without "
                 "encryption; several addresses of it with commas, which are tried in order "
                 "[SIGNALBOX_SERVER]; else over its socket")
      .type_name("ADDRESS")
      .not_empty();
  app.add_option("--ca", invocation.ca,
                 "A PEM file of the authorities that may vouch for a tls:// server [SIGNALBOX_CA, "
                 "else those of the system]")
      .type_name("FILE")
      .not_empty();
  app.add_option("--token-file", invocation.token_file,
                 "The file that holds the access token [else SIGNALBOX_ACCESS_TOKEN holds it]")
      .type_name("FILE")
      .not_empty();
  app.add_option("--at", invocation.at,
                 "Answer a query as of this moment, a position, a time (RFC 3339) or an age (90m): "
                 "from the data directory, or by the server that --server or --socket names")
      .type_name("MOMENT");
  app.add_flag("--full", invocation.full,
               "Whole ids and texts on a terminal, too, however wide they are");
  app.add_flag("--json", invocation.json, "Print exactly one JSON object on stdout, for programs");
}

namespace {

constexpr std::string_view lock_exec_words = "lock exec";

// Moves the words after "--" of `lock exec` into `invocation`, so that they aren't parsed as
// options of ours. Returns the number of the words that are left.
int take_command_words(int argc, char** argv, Invocation& invocation) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  const std::array<std::string_view, 2> lock_exec = {"lock", "exec"};
  if (dashes == end || std::search(argv, dashes, lock_exec.begin(), lock_exec.end()) == dashes) {
    return argc;
  }
  invocation.command_words.emplace(dashes + 1, end);
  return static_cast<int>(dashes - argv);
}

// Commands that ask no server and answer no query, by their first words, and the options with which
// those that read a log say which part of it. The others refuse --at where they find that they
// can't take it: call_server() does, and server_address().
struct CommandWithoutMoment {
  std::string_view words;
  std::string_view own_options = {};
};
constexpr std::array<CommandWithoutMoment, 12> without_moment = {{
    {"serve"},
    {"replay", "--to"},
    {"diff", "--from and --to"},
    {"console"},
    {"audit", "--from and --to where they have them"},
    {"bench"},
    {"fence"},
    {"cell repair"},
    {"cell seed"},
    {"run export"},
    {"completion"},
    {"help"},
}};

// Refuses --at for a command that would do something else than answer about that moment.
Called<void> require_no_moment(const CommandLine& line, const Invocation& invocation) {
  if (!invocation.is_about_past()) return {};
  const std::string given = line.given() + " ";
  for (const CommandWithoutMoment& each : without_moment) {
    if (!given.starts_with(std::string(each.words) + " ")) continue;
    return tl::unexpected(usage_error(
        "`signalbox " + line.given() + "` takes no --at, which is for queries" +
            (each.own_options.empty() ? "" : "; it takes " + std::string(each.own_options)),
        {"signalbox " + line.given() + " --help"}));
  }
  return {};
}

// Runs the command. What a server answers may have any shape, and views read it as what it has to
// be: where it isn't, that ends the command here. A service ends where it fails.
ExitCode checked(const CommandAction& action, const Invocation& invocation) {
  if (invocation.is_service) return action();
  try {
    return action();
  } catch (const std::logic_error&) {  // of Boost.JSON: another kind of value, or a missing member
    return answer(
        invocation,
        tl::unexpected(unreachable("the answer has another shape than this version knows; "
                                   "is it that of a Signalbox server?",
                                   {"signalbox version"})),
        {});
  }
}

}  // namespace

int run(CommandLine& line, Invocation& invocation, int argc, char** argv) {
  invocation.words = argv;
  argc = take_command_words(argc, argv, invocation);
  auto action = line.parse(argc, argv);
  if (action) {
    invocation.command_name = line.given();
    const auto taken = require_no_moment(line, invocation);
    if (!taken) return static_cast<int>(answer(invocation, tl::unexpected(taken.error()), {}));
    return static_cast<int>(checked(*action, invocation));
  }
  // Parsing stopped at the error, perhaps before --json.
  invocation.json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  std::string complaint = message_of(action.error());
  if (line.given() == lock_exec_words && !invocation.command_words) {
    complaint += "; the command to run belongs after --";
  }
  // A list of commands is long. It is broken for people, wherever they read it, and not in JSON.
  action.error().error["message"] = invocation.json ? complaint : wrapped_message(complaint);
  return static_cast<int>(answer(invocation, tl::unexpected(action.error()), {}));
}

namespace {

std::string json_line(const json::object& object, int descriptor) {
  const std::string line = json::serialize(object) + "\n";
  return ::isatty(descriptor) == 1 ? printable_json(line) : line;
}

}  // namespace

Terminal output_terminal(const Invocation& invocation) {
  Terminal terminal = terminal_of(STDOUT_FILENO);
  if (invocation.full) terminal.columns.reset();
  terminal.connection = invocation.connection();
  terminal.moment_ns = invocation.past_time_ns;
  return terminal;
}

namespace {

// Returns the usage error with the command's help as the command to run next.
CallError with_help(const Invocation& invocation, CallError error) {
  json::value& data = error.error["data"];
  if (!data.is_object()) data.emplace_object();
  data.as_object()["next_commands"] =
      json::array{"signalbox " + invocation.command_name + " --help"};
  return error;
}

}  // namespace

ExitCode answer(const Invocation& invocation, const Called<json::object>& result,
                const View& view) {
  // A server knows what is wrong with its params, and not which command's options they are.
  if (!result && result.error().exit_code == ExitCode::usage && !invocation.command_name.empty() &&
      next_commands_of(result.error()).empty()) {
    return answer(invocation, tl::unexpected(with_help(invocation, result.error())), view);
  }
  if (invocation.json) {
    json::object object;
    object["ok"] = result.has_value();
    if (result) {
      object["result"] = *result;
    } else {
      object["error"] = result.error().error;
    }
    write_json(object);
  } else if (result) {
    write_out(view(printable_fields(*result), output_terminal(invocation)));
    // A trace has the moment of its own bars there.
    const json::value* const as_of = result->if_contains("as_of");
    if (as_of != nullptr && as_of->is_string() && !result->contains("spans")) {
      write_message("as of " + std::string(as_of->as_string()) +
                    ": this server doesn't take commands (" +
                    with_connection("signalbox cell status", invocation.connection()) + ")\n");
    }
  } else {
    write_message(describe(result.error(), invocation.connection()));
  }
  return result ? ExitCode::ok : result.error().exit_code;
}

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  write_message("signalbox: the output could not be written\n");
  std::_Exit(static_cast<int>(ExitCode::io));
}

void write_json(const json::object& object) { write_out(json_line(object, STDOUT_FILENO)); }

void write_json_message(const json::object& object) {
  const std::string line = json_line(object, STDERR_FILENO);
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

void write_message(std::string_view text) {
  const std::string shown = broken_message(text, terminal_of(STDERR_FILENO));
  (void)std::fwrite(shown.data(), 1, shown.size(), stderr);
}

}  // namespace signalbox
