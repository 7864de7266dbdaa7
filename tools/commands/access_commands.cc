// `signalbox access …`: the tokens that authenticate clients other than the server's own user.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "domain/try.h"
#include "server/text/time_text.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/nearest_word.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/short_id.h"
#include "tools/cli/text_table.h"
#include "tools/commands/pairing.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct IssueOptions {
  std::string name;
  std::optional<std::string> role, expires_in, pair, command_id;
};

Called<json::object> issue_params(const IssueOptions& options) {
  auto role = options.role;
  auto expires_in = options.expires_in;
  if (options.pair) {
    if (!role) role = Pairing::role;
    if (!expires_in) expires_in = Pairing::expires_in;
  }
  if (!role) {
    return tl::unexpected(usage_error("--role is required", {"signalbox access issue --help"}));
  }
  json::object params{{"name", options.name}, {"role", *role}};
  if (expires_in) {
    const auto expires_in_ms = parse_duration_ms(*expires_in);
    if (!expires_in_ms) {
      return tl::unexpected(
          usage_error("--expires-in is a duration such as 12h or 90m; not " + *expires_in));
    }
    params["expires_in_ms"] = *expires_in_ms;
  }
  set_param(params, "command_id", options.command_id);
  return params;
}

// Prints only the secret on stdout, or the address with it, so that it can be redirected to a file.
ExitCode issue(const Invocation& invocation, const IssueOptions& options) {
  auto params = issue_params(options);
  if (!params) return answer(invocation, params, {});
  std::optional<Pairing> pairing;
  if (options.pair) {
    auto prepared = Pairing::prepare(invocation, *options.pair, *params);
    if (!prepared) return answer(invocation, tl::unexpected(prepared.error()), {});
    pairing = *std::move(prepared);
  }
  auto issued = call_server(invocation, "access.issue", *std::move(params));
  const bool has_secret = issued && !text_at(*issued, "secret").empty();
  if (pairing && has_secret) {
    pairing->add_address(*issued);
    if (!invocation.json) pairing->announce(*issued, invocation.connection());
  }
  const ExitCode code =
      answer(invocation, issued, [&](const json::object& result, const Terminal& terminal) {
        if (!has_secret) return std::string();
        return pairing ? pairing->view(result, terminal)
                       : printable(text_at(result, "secret")) + "\n";
      });
  if (!issued || has_secret) return code;
  write_message(
      "signalbox: this token was issued earlier, and its secret is shown only once\n  try: " +
      with_connection("signalbox access revoke " + printable(text_at(*issued, "id")) +
                          " --reason \"its secret was lost\"\n",
                      invocation.connection()));
  return ExitCode::refused;
}

void add_issue(ToolCommand access, Invocation& invocation) {
  ToolCommand command =
      access.add_subcommand("issue", "Issue an access token; prints its secret, only this once");
  const auto options = std::make_shared<IssueOptions>();
  command.add_option("NAME", options->name, "The name of its holder, as the log shows it")
      .required();
  command
      .add_option("--role", options->role,
                  "What it may do; up to admin, each includes those before it. Required, but "
                  "with --pair: approver")
      .one_of({"viewer", "worker", "operator", "admin", "approver", "runner"});
  command
      .add_option("--expires-in", options->expires_in,
                  "How long it is valid; default: until it is revoked, with --pair: 7d")
      .type_name("DURATION");
  command
      .add_option("--pair", options->pair,
                  "For a phone: print the address of the console at this https address, with the "
                  "token, and its QR code")
      .type_name("URL")
      .not_empty();
  add_command_id(command, options->command_id);
  command.footer(
      "The secret isn't stored. Repeating the same --command-id returns no secret and\n"
      "exits with 1: revoke that token and issue another.\n\n"
      "Examples:\n"
      "  (umask 077;\n"
      "    signalbox access issue ci --role worker --expires-in 720h > ci.token)\n"
      "  signalbox --server tcp://127.0.0.1:7070 --token-file ci.token lock list\n"
      "  signalbox access issue phone --pair https://box.example.org:8443");
  command.action([options, &invocation] { return issue(invocation, *options); });
}

// Returns the id of the usable token of this name, else of the last one listed, else of the one
// whose id ends so; an id is returned unchanged. ACCESS_TOKEN_NOT_FOUND if there is none.
// AMBIGUOUS_ID.
Called<std::string> id_of(const Invocation& invocation, const std::string& given) {
  if (parse_uuid(given)) return given;
  const auto listed = TRY(call_server(invocation, "access.list", {}));
  std::string of_name;
  std::vector<std::string> of_end;
  std::vector<std::string> names;
  for (const json::value& each : array_at(listed, "tokens")) {
    const json::object& token = each.as_object();
    const std::string id = text_at(token, "id");
    names.push_back(text_at(token, "name"));
    if (names.back() == given) {
      of_name = id;
      if (text_at(token, "status") == "usable") return id;
    }
    if (is_short_id(given) && id.ends_with(given)) of_end.push_back(id);
  }
  if (!of_name.empty()) return of_name;
  if (of_end.size() == 1) return of_end.front();
  if (!of_end.empty()) {
    return tl::unexpected(from_rejection({ErrorCode::AMBIGUOUS_ID,
                                          "several access tokens have ids that end with " + given,
                                          {{"id", given}, {"matches", of_end}},
                                          {"signalbox access list --full"}}));
  }
  CallError refusal = from_rejection({ErrorCode::ACCESS_TOKEN_NOT_FOUND,
                                      "no access token has the name or the id " + given,
                                      {{"name", given}},
                                      {"signalbox access list"}});
  (void)name_meant(refusal.error, names, given);
  return tl::unexpected(std::move(refusal));
}

void add_revoke(ToolCommand access, Invocation& invocation) {
  struct Options {
    std::string token, reason;
    std::optional<std::string> command_id;
  };
  ToolCommand command =
      access.add_subcommand("revoke", "Revoke an access token, from its next request on");
  const auto options = std::make_shared<Options>();
  command.add_option("TOKEN", options->token, "The token's name, or its id or the id's end")
      .required();
  command.add_option("--reason", options->reason, "The reason; kept in the log").required();
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox access revoke ci --reason \"the machine was sold\"");
  command.action([options, &invocation] {
    const auto id = id_of(invocation, options->token);
    if (!id) return answer(invocation, tl::unexpected(id.error()), {});
    json::object params{{"id", *id}, {"reason", options->reason}};
    set_param(params, "command_id", options->command_id);
    return call_and_answer(
        invocation, "access.revoke", std::move(params),
        [](const json::object& result, const Terminal&) {
          return std::string(true_at(result, "revoked") ? "revoked\n" : "already revoked\n");
        });
  });
}

Style token_style(const std::string& status) {
  return status == "usable" ? Style::good : Style::faint;
}

// Returns when the token ended or will end, to the minute on a terminal, which has no place for
// more.
std::string end_of(const json::object& token, const Terminal& terminal, std::int64_t now_ns) {
  const bool is_revoked = text_at(token, "status") == "revoked";
  const std::string end = text_at(token, is_revoked ? "revoked_at" : "expires_at");
  if (end.empty()) return "never";
  return terminal.columns ? clock_minutes(end, now_ns) : clock_time(end, now_ns);
}

std::string view_access_tokens(const json::object& result, const Terminal& terminal) {
  const std::int64_t now_ns = terminal.now_ns();
  TextTable table({TextTable::pasted("name"),
                   {"role"},
                   {"status"},
                   TextTable::spare(1, "issued"),
                   TextTable::spare(2, "by"),
                   {"ends"},
                   TextTable::ids("id"),
                   {"reason"}});
  for (const json::value& each : array_at(result, "tokens")) {
    const json::object& token = each.as_object();
    const std::string status = text_at(token, "status");
    table.add({{text_at(token, "name")},
               {text_at(token, "role")},
               {status, token_style(status)},
               {short_age(text_at(token, "issued_at"), now_ns)},
               {text_at(token, "issued_by")},
               {end_of(token, terminal, now_ns)},
               {text_at(token, "id")},
               {text_at(token, "reason")}});
  }
  const std::string tokens = table.empty()
                                 ? "no access tokens; `signalbox access issue` makes one\n"
                                 : table.text(terminal);
  // The roles are settings of a server, which the log alone doesn't have.
  if (!result.contains("without_token")) return tokens;
  const std::string loopback = text_at(object_at(result, "without_token"), "tcp_loopback");
  return tokens + "Without a token, over TCP from a loopback address: " +
         (loopback.empty() ? "refused" : loopback) + "\n";
}

void add_access_list(ToolCommand access, Invocation& invocation) {
  ToolCommand command =
      access.add_subcommand("list", "Access tokens: those in use, and the latest that ended");
  command.footer(
      "Examples:\n"
      "  signalbox access list\n"
      "  signalbox access list --json | jq '.result.tokens[].name'");
  command.action(
      [&invocation] { return call_and_answer(invocation, "access.list", {}, view_access_tokens); });
}

}  // namespace

void add_access_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand access = app.add_group("access", "Access tokens: issue, revoke, list");
  access.footer(
      "Examples:\n"
      "  (umask 077; signalbox access issue ci --role worker > ci.token)\n"
      "  signalbox access revoke ci --reason \"no longer needed\"");
  add_issue(access, invocation);
  add_revoke(access, invocation);
  add_access_list(access, invocation);
}

}  // namespace signalbox
