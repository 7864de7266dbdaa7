// `signalbox console`: the console in the browser of the user who may use the server's socket, with
// no setting of the server. The server doesn't see a new user, but a token of that one's.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <pwd.h>
#include <unistd.h>

#include "domain/try.h"
#include "server/access/secret.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/console/browser.h"
#include "tools/console/capsule_source.h"
#include "tools/console/console_proxy.h"
#include "tools/console/console_token.h"
#include "tools/console/stopped_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t random_name_characters = 8;

struct ConsoleOptions {
  std::optional<std::string> role;
  std::uint32_t port = 0;
  bool is_quiet = false;
  std::string capsule;            // a file that is shown instead of a server
  std::vector<std::string> keys;  // that are trusted to sign it
};

// Returns a name that no other console has: tokens are told apart by it in the log.
std::string token_name() {
  const passwd* user = ::getpwuid(::geteuid());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host.fill('\0');
  const std::string random = make_secret(secure_random());
  return "console " + (user != nullptr ? std::string(user->pw_name) : std::string("user")) + "@" +
         host.data() + " " + random.substr(random.size() - random_name_characters);
}

Called<IssuedToken> issue_token(const Invocation& invocation, const ConsoleOptions& options) {
  const auto issued = TRY(call_server(invocation, "access.issue",
                                      {{"name", token_name()},
                                       {"role", options.role.value_or("operator")},
                                       {"expires_in_ms", console_token_ms}}));
  return IssuedToken{text_at(issued, "id"), text_at(issued, "secret"), text_at(issued, "role")};
}

// Issues a token. Who may not, and asked for no role, goes on as who they are to the server.
Called<IssuedToken> server_token(const Invocation& invocation, const ConsoleOptions& options,
                                 const ServerAddress& server) {
  auto issued = issue_token(invocation, options);
  if (issued || options.role || code_of(issued.error()) != "FORBIDDEN") return issued;
  const auto who = TRY(call_server(invocation, "server.whoami", {}));
  return IssuedToken{"", server.secret, text_at(who, "role")};
}

void revoke_token(const Invocation& invocation, const std::string& id) {
  const auto revoked =
      call_server(invocation, "access.revoke", {{"id", id}, {"reason", "signalbox console ended"}});
  if (revoked) return;
  write_message("signalbox: its token isn't revoked:\n" +
                describe(revoked.error(), invocation.connection()));
}

// What answers in the place of a server; without a source, a server does, with the token.
struct ShownSource {
  ConsoleSource* source = nullptr;
  bool is_stopped_log = false;
  std::string note;               // for people, with a line break
  ConsoleToken* token = nullptr;  // or none: that of the server's address, if it has one
};

void announce(const Invocation& invocation, const std::string& address, const std::string& role,
              const ShownSource& shown) {
  if (invocation.json) {
    const json::object result{
        {"address", address}, {"role", role}, {"is_stopped_log", shown.is_stopped_log}};
    static_cast<void>(answer(invocation, result, {}));
    return;
  }
  write_out("The console: " + address + "\n");
  if (!shown.note.empty()) write_message(shown.note);
  write_message("It is yours alone, with the role " + role + ", until this command ends (^C).\n");
}

// Serves the console until ^C.
ExitCode serve_until_interrupt(const Invocation& invocation, const ConsoleOptions& options,
                               const ServerAddress& server, const std::string& role,
                               const ShownSource& shown) {
  const std::string secret = make_secret(secure_random());
  std::optional<TlsTrust> trust;
  if (std::any_of(server.endpoints.begin(), server.endpoints.end(),
                  [](const Endpoint& each) { return each.is_tls; })) {
    auto loaded = TlsTrust::load(server.ca);
    if (!loaded) return answer(invocation, tl::unexpected(loaded.error()), {});
    trust.emplace(std::move(*loaded));
  }
  ConsoleProxy proxy({server, shown.source, secret, std::move(trust), shown.token});
  const auto port = proxy.listen(static_cast<std::uint16_t>(options.port));
  if (!port) return answer(invocation, tl::unexpected(port.error()), {});
  const std::string address = "http://127.0.0.1:" + std::to_string(*port) + "/console/#t=" + secret;
  const bool is_shown = !options.is_quiet && ::isatty(STDOUT_FILENO) == 1;
  const auto page = is_shown ? BrowserPage::write(address) : std::nullopt;
  announce(invocation, address, role, shown);
  if (page) static_cast<void>(page->open());  // the address is on the screen
  proxy.run();
  return ExitCode::ok;
}

// Returns whether the command names a data directory and no server, so that its log is meant where
// no server runs.
bool may_show_log(const Invocation& invocation, const ServerAddress& server) {
  return !invocation.data.empty() && invocation.socket.empty() && server.is_unix();
}

ExitCode serve_capsule(const Invocation& invocation, const ConsoleOptions& options) {
  const auto capsule = CapsuleSource::open(options.capsule, options.keys);
  if (!capsule) return answer(invocation, tl::unexpected(capsule.error()), {});
  const std::string vouched =
      (*capsule)->is_signed() ? ""
                              : "Nobody vouches for it: name the key that is trusted (--key).\n";
  return serve_until_interrupt(
      invocation, options, ServerAddress(invocation.socket_path()), "viewer",
      {capsule->get(), false,
       "It shows the run of this capsule, whose proofs were checked, and nothing else.\n" +
           vouched});
}

ExitCode serve_console(const Invocation& invocation, const ConsoleOptions& options) {
  if (!options.capsule.empty()) return serve_capsule(invocation, options);
  auto server = invocation.server_address();
  if (!server) return answer(invocation, tl::unexpected(server.error()), {});
  auto token = server_token(invocation, options, *server);
  if (!token) {
    if (token.error().exit_code != ExitCode::unreachable || !may_show_log(invocation, *server)) {
      return answer(invocation, tl::unexpected(token.error()), {});
    }
    const auto log = StoppedLog::open(invocation.data_directory());
    if (!log) {
      const bool is_damaged = log.error().exit_code == ExitCode::damaged;
      return answer(invocation, tl::unexpected(is_damaged ? log.error() : token.error()), {});
    }
    return serve_until_interrupt(
        invocation, options, *server, "viewer",
        {log->get(), true,
         "No service runs there: it shows the log as it was left, and changes nothing.\n"});
  }
  server->secret = token->secret;
  const std::string role = token->role;
  const SystemClock clock;
  ConsoleToken own(
      *std::move(token), [&invocation, &options] { return issue_token(invocation, options); },
      clock);
  ShownSource shown;
  shown.token = &own;
  const ExitCode served = serve_until_interrupt(invocation, options, *server, role, shown);
  for (const std::string& id : own.usable_ids()) revoke_token(invocation, id);
  return served;
}

}  // namespace

void add_console_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("console", "Open the console in your browser, until ^C");
  const auto options = std::make_shared<ConsoleOptions>();
  command.add_option("--role", options->role, "What it may do; default: operator")
      .one_of({"viewer", "worker", "operator", "admin", "approver"});
  command.add_option("--port", options->port, "On 127.0.0.1; default: a free one").range(0, 65535);
  command.add_flag("--no-open", options->is_quiet, "Only print the address");
  command.add_option("--capsule", options->capsule, "Show the run in this file, without a server")
      .type_name("FILE")
      .existing_file();
  command
      .add_option("--key", options->keys,
                  "With --capsule: a trusted verifier key, or @FILE; repeatable")
      .type_name("KEY")
      .repeatable();
  command.excludes("--capsule", {"--role"});
  command.needs("--key", "--capsule");
  command.footer(
      "It listens on 127.0.0.1 and passes requests on to the server, by a token of its\n"
      "own that is revoked at its end. The address has a secret: whoever has it may use\n"
      "this console. With --data and no service there, it shows the log as it was left;\n"
      "with --capsule, one run that `signalbox run export` wrote.\n\n"
      "Examples:\n"
      "  signalbox console\n"
      "  signalbox console --role viewer\n"
      "  signalbox console --data ./copy-of-a-crashed-box\n"
      "  signalbox console --capsule run.capsule --key @audit.vkey\n"
      "  ssh -L 7070:127.0.0.1:7070 box signalbox console --port 7070");
  command.action([options, &invocation] { return serve_console(invocation, *options); });
}

}  // namespace signalbox
