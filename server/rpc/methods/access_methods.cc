// `access.*`, `server.authenticate` and `server.whoami`: access tokens, authenticating a connection
// with one, and what a caller may do.
#include "server/access/authentication.h"
#include "server/access/job_rights.h"
#include "server/access/secret.h"
#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::value optional_time(const std::optional<std::int64_t>& utc_ns) {
  return utc_ns ? json::value(format_time(*utc_ns)) : json::value(nullptr);
}

// Returns the event's fields. The event doesn't contain the secret, so only the first answer has
// it, and a repeated one has null.
json::object issue_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    if (const auto* issued = event_as<AccessTokenIssued>(record.event)) {
      result["id"] = to_string(issued->id);
      result["name"] = issued->name;
      result["role"] = name_of(issued->role);
      result["expires_at"] = optional_time(issued->expires_at_ns);
      result["secret"] = nullptr;
    }
  }
  return result;
}

void issue(Api& api, Call& call, const RandomSource& random) {
  auto command = from_json<IssueAccessToken>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (answered_before(api, call, issue_result)) return;
  const std::string secret = make_secret(random);
  command->id = api.ids.next_run_id(api.clock.wall_ns());
  command->secret_sha256 = digest_of_secret(secret);
  auto outcome = outcome_of(api, call.origin, *command, issue_result);
  if (outcome) (*outcome)["secret"] = secret;
  call.responder.answer(std::move(outcome));
}

json::object revoke_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["revoked"] = false;
  for (const Record& record : records) {
    if (const auto* revoked = event_as<AccessTokenRevoked>(record.event)) {
      result["id"] = to_string(revoked->id);
      result["revoked"] = true;
    }
  }
  return result;
}

const char* status_of(const AccessToken& token, std::int64_t wall_ns) {
  if (token.status == AccessTokenStatus::revoked) return "revoked";
  return token.expired(wall_ns) ? "expired" : "usable";
}

void list_access_tokens(Api& api, Call& call, const AccessParts& parts) {
  json::array tokens;
  for (const AccessToken& token : api.engine.world().access.tokens) {
    json::object row;
    row["id"] = to_string(token.id);
    row["name"] = token.name;
    row["role"] = name_of(token.role);
    row["status"] = status_of(token, api.clock.wall_ns());
    row["issued_at"] = format_time(token.issued_at_ns);
    row["issued_by"] = token.issued_by;
    row["issued_position"] = token.issued_at;
    row["expires_at"] = optional_time(token.expires_at_ns);
    if (token.status == AccessTokenStatus::revoked) {
      row["revoked_at"] = format_time(token.revoked_at_ns);
      row["reason"] = token.revoked_reason;
    }
    tokens.push_back(std::move(row));
  }
  json::object result;
  result["tokens"] = std::move(tokens);
  if (const auto roles = parts.roles_without_token()) {
    json::object without;
    without["unix_owner"] = name_of(Role::admin);
    without["unix_others"] = name_of(roles->unix_others);
    without["tcp_loopback"] =
        roles->tcp_loopback ? json::value(name_of(*roles->tcp_loopback)) : json::value(nullptr);
    without["tcp_others"] = nullptr;
    result["without_token"] = std::move(without);
  }
  call.responder.result(std::move(result));
}

struct Authenticate {
  std::string secret;
};
BOOST_DESCRIBE_STRUCT(Authenticate, (), (secret))

// Rejects a secret and records the denial, as for any other denied request, so that guessing of
// secrets shows in the log. While the log takes nothing, neither is possible.
void refuse_secret(Api& api, Call& call, const Rejection& why) {
  if (api.engine.is_stuck() && api.refuses_commands) {
    if (const auto away = api.refuses_commands()) return call.responder.refuse_at_once(*away);
  }
  (void)api.engine.begin({call.origin.actor, {}, {}})
      .apply(NoteAccessDenied{call.origin.actor, "server.authenticate", {}, Role::viewer});
  call.responder.reject(with_needed_role(why, Role::viewer));
}

void refuse_http(const Call& call) {
  call.responder.reject({ErrorCode::NOT_ALLOWED,
                         "each HTTP request brings its own token: Authorization: Bearer sbx_…",
                         {},
                         {"signalbox access list"}});
}

// A secret that is known here was given to somebody, so what it is of is durable: the answer waits
// for nothing that was applied since.
void authenticate_job(Api& api, Call& call, const Decided<AccessParts::KnownJob>& job) {
  if (!job) return refuse_secret(api, call, job.error());
  if (!call.responder.peer()->use_job(job->job_id)) return refuse_http(call);
  json::object result;
  result["actor"] = job->actor;
  result["role"] = name_of(Role::job);
  call.responder.result_at_once(std::move(result));
}

void authenticate(Api& api, Call& call, const AccessParts& parts) {
  const auto params = from_json<Authenticate>(call.params);
  if (!params) return call.responder.reject(params.error());
  if (const auto job = parts.job_of(params->secret)) return authenticate_job(api, call, *job);
  const auto found = parts.token_of(params->secret);
  if (!found) {
    return call.responder.reject({ErrorCode::INTERNAL, "the caller is unknown here", {}, {}});
  }
  const Decided<Uuid>& id = *found;
  if (!id) return refuse_secret(api, call, id.error());
  if (!call.responder.peer()->use_token(*id)) return refuse_http(call);
  const AccessToken& token = *api.engine.world().access.find(*id);
  json::object result;
  result["actor"] = "token:" + token.name;
  result["id"] = to_string(*id);
  result["role"] = name_of(token.role);
  result["expires_at"] = optional_time(token.expires_at_ns);
  call.responder.result_at_once(std::move(result));
}

}  // namespace

AccessParts access_parts(const Authentication& authentication) {
  AccessParts parts;
  parts.roles_without_token = [&authentication] {
    return AccessParts::RolesWithoutToken{authentication.other_user_role(),
                                          authentication.loopback_role()};
  };
  parts.token_of = [&authentication](std::string_view secret) {
    return authentication.token_of(secret);
  };
  parts.job_of =
      [&authentication](std::string_view secret) -> std::optional<Decided<AccessParts::KnownJob>> {
    if (!is_job_secret(secret)) return std::nullopt;
    auto job_id = authentication.job_of(secret);
    if (!job_id) return tl::unexpected(job_id.error());
    return authentication.job(*job_id).map([&job_id](const Principal& job) {
      return AccessParts::KnownJob{std::move(*job_id), job.actor};
    });
  };
  return parts;
}

Method whoami_method(const std::vector<Method>& others) {
  struct Needed {
    std::string name;
    std::optional<Role> role;
  };
  std::vector<Needed> needed{{"server.whoami", Role::viewer}};
  for (const Method& each : others) needed.push_back({std::string(each.name), each.needs});
  return {"server.whoami", false, Role::viewer, params_of<NoParams>(), [needed](Api&, Call& call) {
            json::object result;
            result["actor"] = call.origin.actor;
            result["role"] = name_of(call.role);
            json::array& methods = result["methods"].emplace_array();
            for (const Needed& each : needed) {
              const bool decides = call.role == Role::approver && each.name == method_of_decisions;
              if (decides || !each.role || may(call.role, *each.role)) {
                methods.emplace_back(each.name);
              }
            }
            call.responder.result(std::move(result));
          }};
}

std::vector<Method> access_methods(const AccessParts& given) {
  const auto parts = std::make_shared<const AccessParts>(given);
  return {
      {"access.issue", true, Role::admin, params_of<IssueAccessToken>(),
       [parts](Api& api, Call& call) { issue(api, call, parts->random); }},
      {"access.revoke", true, Role::admin, params_of<RevokeAccessToken>(),
       handle_command<RevokeAccessToken, revoke_result>},
      {"access.list", false, Role::admin, params_of<NoParams>(),
       [parts](Api& api, Call& call) { list_access_tokens(api, call, *parts); }},
      {"server.authenticate", false, std::nullopt, params_of<Authenticate>(),
       [parts](Api& api, Call& call) { authenticate(api, call, *parts); }},
  };
}

}  // namespace signalbox
