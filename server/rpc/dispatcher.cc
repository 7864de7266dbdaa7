#include "server/rpc/dispatcher.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/access/authentication.h"
#include "server/access/caller.h"
#include "server/access/job_rights.h"
#include "server/engine/engine.h"
#include "server/limits.h"
#include "server/rpc/request.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

// Size of a query that is kept until it is answered, in case it has to be asked again. A longer
// line is mostly padding; it is rejected in that case, because eight such lines for each connection
// would add up.
constexpr std::size_t asked_again_bytes_max = 4 * 1024;

// The method in AccessDenied if it is in the part of a request that wasn't read.
constexpr std::string_view unread_method = "POST /rpc";

}  // namespace

// Who makes a request.
struct Requester {
  const std::string& actor;
  const Principal* principal;  // nullptr: nobody that is known here
  const Rejection* why;        // the reason then, else nullptr
};

namespace {

Rejection forbidden(const std::string& actor, const Method& method, Role role) {
  const std::string needs = name_of(*method.needs);
  return {ErrorCode::FORBIDDEN,
          actor + " is " + name_of(role) + "; " + std::string(method.name) + " needs " + needs,
          {{"actor", actor},
           {"method", std::string(method.name)},
           {"role", std::string(name_of(role))},
           {"needs", needs}},
          {"signalbox access issue my-" + needs + " --role " + needs}};
}

// FORBIDDEN if `principal` may not make this call.
Decided<void> check_rights(const World& world, const Principal& principal, const Method& method,
                           const boost::json::object& params) {
  if (!method.needs) return {};
  if (principal.role == Role::job) return check_job(*principal.job, method.name, params);
  const bool decides = principal.role == Role::approver && only_decides(method.name, params);
  if (decides) {
    TRY(check_going_on(world, principal, params));
  } else if (!may(principal.role, *method.needs)) {
    return tl::unexpected(forbidden(principal.actor, method, principal.role));
  }
  return check_approval(principal, method.name, params);
}

// Removes the moment of the past that a request is about from its params and returns it; nullopt if
// it is about the present.
Decided<std::optional<std::string>> take_moment(const Method& method, Request& request) {
  const boost::json::value* const at = request.params.if_contains("at");
  if (at == nullptr) return std::nullopt;
  if (!answers_about_past(method)) {
    return tl::unexpected(not_about_past(method, request.params));
  }
  std::string moment;
  if (at->is_string()) {
    moment.assign(at->get_string().data(), at->get_string().size());
  } else if (at->is_uint64() || at->is_int64()) {
    moment = boost::json::serialize(*at);
  } else {
    return reject(ErrorCode::INVALID_PARAMS, "at must be a position, a time or an age",
                  {{"field", std::string("at")}});
  }
  request.params.erase("at");
  return moment;
}

// Returns the line of a request without a command id.
std::string line_of(const Request& request) {
  std::string line = R"({"jsonrpc":"2.0","id":)" + request.id_text + R"(,"method":)";
  line += boost::json::serialize(boost::json::string_view(request.method)) + R"(,"params":)";
  line += boost::json::serialize(request.params) + "}";
  return line;
}

// Whoever asks how the cell or the service is, which they do just when its log is away, has to be
// able to say who they are. Of the state these tell nothing then.
bool answers_at_once(const Method& method, const boost::json::object& params) {
  constexpr std::array names = {"cell.get", "server.authenticate", "server.metrics",
                                "server.status"};
  return std::ranges::find(names, method.name) != names.end() && !params.contains("at");
}

// While the log is away, no refusal could be sent before what was applied is durable. What is
// refused here is so whatever becomes of that.
void refuse_now(const Engine& engine, const Responder& responder, const Rejection& rejection) {
  if (engine.is_stuck()) return responder.refuse_at_once(rejection);
  responder.reject(rejection);
}

// Returns the actor that a denial names: the job, even if it has shown the access token of somebody
// else.
const std::string& denied_actor(const Requester& requester) {
  const bool is_job = requester.principal != nullptr && requester.principal->job;
  return is_job ? requester.principal->job->actor : requester.actor;
}

// Checks the params as far as every method has them checked.
Decided<void> check_params(const Method& method, const boost::json::object& params) {
  // A handler that reads no params wouldn't notice one.
  if (method.params->fields.empty()) TRY(from_json<NoParams>(params));
  return require_named(method, params);
}

// Returns the origin of a command, without a command id.
Origin origin_of(const Requester& requester) {
  const Principal* const principal = requester.principal;
  if (principal == nullptr) return {requester.actor, {}, {}};
  const bool is_admin = principal->role == Role::admin && !principal->job;
  Origin origin{requester.actor, {}, {}, is_admin};
  origin.access_token = principal->access_token;
  if (!principal->job) return origin;
  origin.job_token = principal->job->token;
  origin.former_actor = principal->job->former_actor;
  return origin;
}

}  // namespace

Dispatcher::Dispatcher(Api& api, std::vector<Method> methods)
    : api_(api), methods_(std::move(methods)) {
  for (const Method& method : methods_) by_name_.emplace(method.name, &method);
}

void Dispatcher::handle(std::string_view line, const Principal& principal,
                        const std::shared_ptr<Peer>& peer) {
  route(line, {principal.actor, &principal, nullptr}, peer);
}

void Dispatcher::handle_unknown(std::string_view line, const std::string& actor,
                                const Rejection& why, const std::shared_ptr<Peer>& peer) {
  route(line, {actor, nullptr, &why}, peer);
}

void Dispatcher::refuse_unread(std::string_view method, const std::string& actor,
                               const Rejection& why, const std::shared_ptr<Peer>& peer) {
  Responder responder(api_.engine, peer, "null");
  if (refusal_) return responder.reject(*refusal_);
  const auto found = by_name_.find(method);
  const Role needs =
      found == by_name_.end() ? Role::viewer : found->second->needs.value_or(Role::viewer);
  (void)api_.engine.begin({actor, {}, {}})
      .apply(
          NoteAccessDenied{actor, std::string(method.empty() ? unread_method : method), {}, needs});
  responder.reject(with_needed_role(why, needs));
}

void Dispatcher::refuse(std::string_view line, const Rejection& why,
                        const std::shared_ptr<Peer>& peer) {
  const auto request = read_request(line, {});
  Responder(api_.engine, peer, request ? request->id_text : request.error().id_text).reject(why);
}

Rejection Dispatcher::unknown_method(const Request& request, const Requester& requester) const {
  if (requester.principal == nullptr) return with_needed_role(*requester.why, Role::viewer);
  std::vector<std::string> names;
  for (const Method& method : methods_) names.emplace_back(method.name);
  return {ErrorCode::METHOD_NOT_FOUND,
          "there is no method " + std::string(utf8_prefix(request.method, 64)),
          {{"methods", std::move(names)}},
          {"signalbox rpc --describe"}};
}

void Dispatcher::prepare_roll_back(std::string_view line, const Requester& requester,
                                   const std::shared_ptr<Peer>& peer, Responder& responder,
                                   Patience patience) {
  if (requester.principal != nullptr && line.size() <= asked_again_bytes_max) {
    responder.when_rolled_back(
        [this, asked = std::string(line), principal = *requester.principal, peer] {
          handle(asked, principal, peer);
          peer->answer({}, query_weight);  // frees the place of the first request
        },
        patience);
    return;
  }
  responder.when_rolled_back([this, responder] {
    const Engine& engine = api_.engine;
    responder.refuse_at_once(engine.storage_full() ? engine.storage_full_refusal()
                                                   : engine.unproved_refusal());
  });
}

// If the log has no space for the event, the request is rejected all the same.
std::optional<Rejection> Dispatcher::deny(const Method& method, const boost::json::object& params,
                                          const Requester& requester) {
  if (!method.needs) return std::nullopt;
  const Principal* const principal = requester.principal;
  const Decided<void> allowed =
      principal != nullptr ? check_rights(api_.engine.world(), *principal, method, params)
                           : tl::unexpected(with_needed_role(*requester.why, *method.needs));
  if (allowed) return std::nullopt;
  const std::string& actor = denied_actor(requester);
  const auto role = principal != nullptr ? std::optional(principal->role) : std::nullopt;
  (void)api_.engine.begin({actor, {}, {}})
      .apply(NoteAccessDenied{actor, std::string(method.name), role, *method.needs});
  return allowed.error();
}

std::optional<Rejection> Dispatcher::why_not_now(const Method& method,
                                                 const boost::json::object& params) const {
  if (!api_.refuses_commands) return std::nullopt;
  // While the log is away, an answer couldn't be sent before what was applied is durable.
  const bool must_wait = api_.engine.is_stuck() && !answers_at_once(method, params);
  if (!needs_writer(method) && !must_wait) return std::nullopt;
  return api_.refuses_commands();
}

void Dispatcher::route(std::string_view line, const Requester& requester,
                       const std::shared_ptr<Peer>& peer) {
  // Most requests fit into the buffer, so that parsing them doesn't allocate.
  std::array<unsigned char, 8192> buffer;
  boost::json::monotonic_resource resource(buffer.data(), buffer.size());

  auto request = read_request(line, &resource);
  if (!request) {
    // A line that is no request at all is answered with the id null. A notification with bad params
    // gets no answer.
    const auto& [id_text, rejection] = request.error();
    const bool unknown = id_text.empty() && rejection.code != ErrorCode::INVALID_PARAMS;
    return refuse_now(api_.engine, Responder(api_.engine, peer, unknown ? "null" : id_text),
                      rejection);
  }
  const auto found = by_name_.find(request->method);
  const bool is_query = found != by_name_.end() && !found->second->mutates;
  Responder responder(api_.engine, peer, request->id_text, is_query ? query_weight : 1);
  if (refusal_) return responder.reject(*refusal_);
  if (found == by_name_.end()) {
    return refuse_now(api_.engine, responder, unknown_method(*request, requester));
  }
  const Method& method = *found->second;
  const Principal* const principal = requester.principal;
  if (principal != nullptr && sees_no_tokens(principal->role)) responder.hide_tokens();
  if (is_query) {
    if (principal != nullptr) responder.set_caller(principal->actor);
    prepare_roll_back(
        line, requester, peer, responder,
        answers_at_once(method, request->params) ? Patience::service_query : Patience::query);
  }
  if (const auto denial = deny(method, request->params, requester)) {
    return refuse_now(api_.engine, responder, *denial);
  }
  if (const auto refusal = why_not_now(method, request->params)) {
    return responder.refuse_at_once(*refusal);
  }
  const auto moment = take_moment(method, *request);
  if (!moment) return responder.reject(moment.error());
  if (*moment) return ask_past(**moment, *request, *principal, responder);
  if (const auto checked = check_params(method, request->params); !checked) {
    return refuse_now(api_.engine, responder, checked.error());
  }
  if (principal != nullptr && method.mutates) {
    responder.note_denials(method.name, denied_actor(requester), principal->role);
  }
  Call call{std::move(request->params), origin_of(requester), std::move(responder),
            principal != nullptr ? principal->role : Role::viewer};
  if (method.mutates && !request->command_id.empty()) {
    call.origin.command_id = std::move(request->command_id);
    call.origin.request_digest = request_digest(method.name, call.params);
  }
  method.handle(api_, call);
}

// A query needs a role, so the caller is known.
void Dispatcher::ask_past(const std::string& moment, const Request& request,
                          const Principal& principal, const Responder& responder) {
  if (!api_.ask_past) {
    return responder.reject({ErrorCode::INVALID_PARAMS,
                             "the answers are about one moment already",
                             {{"field", std::string("at")}},
                             {}});
  }
  if (request.id_text.empty()) return responder.relay({});  // nobody reads the answer
  api_.ask_past({line_of(request), moment, principal, !is_address(principal.actor)}, responder);
}

}  // namespace signalbox
