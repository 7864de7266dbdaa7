// Tests access over the dispatcher: roles, tokens from issue to revocation, and what of a token is
// returned, stored and logged.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include <boost/json/serialize.hpp>

#include "server/access/authentication.h"
#include "server/access/secret.h"
#include "server/rpc/record_json.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// A connection that keeps the token that it was authenticated with, as a session does.
class TokenPeer final : public ListeningPeer {
 public:
  bool use_token(const Uuid& id) override {
    token_id = id;
    return true;
  }
  std::optional<Uuid> token_id;
};

class RpcAccess : public ::testing::Test, protected RpcSite {
 protected:
  // Sends a request as an authenticated principal.
  json::object ask_as(const Principal& principal, const std::string& method,
                      const std::string& params = "{}") {
    dispatcher.handle(request(method, params), principal, peer);
    commit_all();
    return peer->next();
  }
  // Sends a request from a TCP peer, authenticated for each line as the server does.
  json::object ask_tcp(const std::string& method, const std::string& params = "{}") {
    caller.token_id = remote->token_id;
    const auto principal = authentication.of(caller);
    const std::string line = request(method, params);
    if (principal) {
      dispatcher.handle(line, *principal, remote);
    } else {
      dispatcher.handle_unknown(line, caller.actor(), principal.error(), remote);
    }
    commit_all();
    return remote->next();
  }
  json::object issue(const std::string& params) {
    const auto answer = ask("access.issue", params);
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    return answer.contains("result") ? answer.at("result").as_object() : json::object{};
  }
  static std::string text(const json::object& object, const char* key) {
    return std::string(object.at(key).as_string());
  }
  // Returns the whole log as clients read it.
  std::string log_text() {
    std::string all;
    EXPECT_TRUE(log.scan(1, log.tail(), [&all](Record&& record) {
      all += json::serialize(record_to_json(record)) + "\n";
      return true;
    }));
    return all;
  }
  std::size_t events_of(const std::string& type) {
    std::size_t count = 0;
    EXPECT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
      if (tag_of(record.event).name == type) ++count;
      return true;
    }));
    return count;
  }

  Caller caller{{}, "127.0.0.1", true, {}, {}};
  std::shared_ptr<TokenPeer> remote = std::make_shared<TokenPeer>();
};

// Nor anything that acts for the log.
TEST_F(RpcAccess, AViewerIsGivenNothingThatRecords) {  // P11
  std::size_t given = 0;
  for (const Method& method : dispatcher.methods()) {
    if (method.needs != Role::viewer) continue;
    ++given;
    EXPECT_FALSE(method.mutates) << method.name;
    EXPECT_FALSE(needs_writer(method)) << method.name;
  }
  EXPECT_GT(given, 40U);
}

TEST_F(RpcAccess, EachMethodIsRefusedToTheRoleBelowAndGivenToItsOwn) {
  for (const Method& method : dispatcher.methods()) {
    if (!method.needs) {
      EXPECT_EQ(method.name, "server.authenticate");
      continue;
    }
    const std::string name(method.name);
    for (const Role role : {Role::viewer, Role::worker, Role::operator_, Role::admin}) {
      // No method has this param: a role that suffices gets an error about it, or a result.
      const auto answer = ask_as({"token:x", role}, name, R"({"no such param":1})");
      const bool is_runners = *method.needs == Role::runner;
      EXPECT_EQ(code_of(answer) == "FORBIDDEN",
                is_runners ? role != Role::admin : role < *method.needs)
          << name << " as " << name_of(role) << ": " << json::serialize(answer);
    }
  }
}

TEST_F(RpcAccess, ARunnerCallsWhatIsForRunnersAndNothingElse) {  // N3
  for (const Method& method : dispatcher.methods()) {
    if (!method.needs) continue;
    const auto answer =
        ask_as({"token:build1", Role::runner}, std::string(method.name), R"({"no such param":1})");
    EXPECT_EQ(code_of(answer) == "FORBIDDEN", *method.needs != Role::runner) << method.name;
  }
}

TEST_F(RpcAccess, AnApproverLooksAndDecidesApprovals) {  // O5
  const Principal approver{"token:phone", Role::approver};
  for (const Method& method : dispatcher.methods()) {
    if (!method.needs) continue;
    const auto answer = ask_as(approver, std::string(method.name), R"({"no such param":1})");
    EXPECT_EQ(code_of(answer) == "FORBIDDEN", *method.needs != Role::viewer) << method.name;
  }
  const auto who = ask_as(approver, "server.whoami").at("result").at("methods").as_array();
  EXPECT_TRUE(std::find(who.begin(), who.end(), json::value("run.resume")) != who.end());

  const std::string run = start_run(
      R"({"goal":"g","pipeline":{"name":"a","station":[{"name":"ask","executor":"approval"}]}})");
  const auto code_of_resume = [&](const std::string& more) {
    return code_of(ask_as(approver, "run.resume", R"({"run_id":")" + run + "\"" + more + "}"));
  };
  EXPECT_EQ(code_of_resume(""), "FORBIDDEN");
  EXPECT_EQ(code_of_resume(R"(,"decision":null)"), "FORBIDDEN");
  EXPECT_EQ(code_of_resume(R"(,"decision":"approve","budget":{"turns":5})"), "FORBIDDEN");
  ask("run.pause", R"({"run_id":")" + run + "\"}");
  EXPECT_EQ(code_of_resume(R"(,"decision":"approve")"), "FORBIDDEN") << "it would resume the run";
  ask("run.resume", R"({"run_id":")" + run + "\"}");
  EXPECT_EQ(code_of_resume(R"(,"decision":"approve")"), "");
  EXPECT_EQ(events_of("RunSucceeded"), 1U);
}

TEST_F(RpcAccess, AnApproverSeesNoTokens) {  // O5, G8
  ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000})");
  const auto shown = ask_as({"token:phone", Role::approver}, "lock.get", R"({"key":"deploy"})");
  EXPECT_TRUE(shown.at("result").at("lock").at("token").is_null());
}

TEST_F(RpcAccess, WhoamiNamesWhatTheRoleMayCall) {
  const auto result = ask_as({"token:eve", Role::viewer}, "server.whoami", "{}");
  const auto& who = result.at("result").as_object();
  EXPECT_EQ(text(who, "actor"), "token:eve");
  EXPECT_EQ(text(who, "role"), "viewer");
  const auto& named = who.at("methods").as_array();
  for (const Method& method : dispatcher.methods()) {
    const bool is_named = std::find(named.begin(), named.end(),
                                    json::value(json::string_view(method.name))) != named.end();
    EXPECT_EQ(is_named, !method.needs || may(Role::viewer, *method.needs)) << method.name;
  }
}

TEST_F(RpcAccess, ARefusalTellsWhatIsNeededAndIsInTheLog) {
  const auto answer = ask_as({"token:ci", Role::worker}, "run.start", R"({"goal":"g"})");
  const auto& data = answer.at("error").at("data").as_object();
  EXPECT_EQ(text(data, "code"), "FORBIDDEN");
  const auto& details = data.at("details").as_object();
  EXPECT_EQ(text(details, "actor"), "token:ci");
  EXPECT_EQ(text(details, "method"), "run.start");
  EXPECT_EQ(text(details, "role"), "worker");
  EXPECT_EQ(text(details, "needs"), "operator");
  EXPECT_FALSE(data.at("next_commands").as_array().empty());
  EXPECT_NE(log_text().find(R"("actor":"token:ci","method":"run.start","role":"worker",)"
                            R"("needs":"operator")"),
            std::string::npos)
      << log_text();
  for (int time = 0; time < 5; ++time) ask_as({"token:ci", Role::worker}, "run.start");
  EXPECT_EQ(events_of("AccessDenied"), 1U);
  clock.advance_ms(limits::denial_streak_ms_max);
  ask_as({"token:ci", Role::worker}, "run.start");
  EXPECT_EQ(events_of("AccessDenied"), 2U);
  EXPECT_EQ(events_of("RunStarted"), 0U);
}

// A refusal is sent only once the log has it.
TEST_F(RpcAccess, ARefusalWaitsForItsEvent) {
  dispatcher.handle(request("run.start", "{}"), {"token:ci", Role::viewer}, peer);
  engine.flush();
  EXPECT_TRUE(peer->lines.empty());
  finish();
  EXPECT_EQ(code_of(peer->next()), "FORBIDDEN");
}

TEST_F(RpcAccess, WithoutSpaceARefusalStands) {
  ask("run.start", R"({"goal":"g"})");
  send(request("run.start", R"({"goal":"h"})"));
  engine.flush();
  finish(AppendStatus::full);
  peer->next();
  EXPECT_EQ(code_of(ask_as({"token:ci", Role::viewer}, "run.start")), "FORBIDDEN");
}

TEST_F(RpcAccess, ATokenFromIssueToRevocation) {
  const auto token = issue(R"({"name":"ci","role":"worker"})");
  const std::string secret = text(token, "secret");
  EXPECT_TRUE(secret.starts_with("sbx_"));
  EXPECT_EQ(secret.size(), 4U + 64U);
  EXPECT_EQ(code_of(ask_tcp("lock.list")), "UNAUTHENTICATED");
  const auto known = ask_tcp("server.authenticate", R"({"secret":")" + secret + R"("})");
  EXPECT_EQ(text(known.at("result").as_object(), "actor"), "token:ci");
  EXPECT_EQ(text(known.at("result").as_object(), "role"), "worker");
  EXPECT_EQ(code_of(ask_tcp("lock.acquire", R"({"key":"k","owner":"me"})")), "");
  EXPECT_EQ(code_of(ask_tcp("run.start", R"({"goal":"g"})")), "FORBIDDEN");
  EXPECT_NE(log_text().find(R"("actor":"token:ci")"), std::string::npos);
  ask("access.revoke", R"({"id":")" + text(token, "id") + R"(","reason":"lost"})");
  const auto refused = ask_tcp("lock.list");
  EXPECT_EQ(code_of(refused), "UNAUTHENTICATED");
  EXPECT_EQ(refused.at("error").at("data").at("details").at("reason").as_string(), "revoked");
  EXPECT_EQ(code_of(ask_tcp("server.authenticate", R"({"secret":")" + secret + R"("})")),
            "UNAUTHENTICATED");
}

TEST_F(RpcAccess, AnExpiredTokenEndsAtItsNextRequest) {
  const auto token = issue(R"({"name":"ci","role":"viewer","expires_in_ms":1000})");
  ask_tcp("server.authenticate", R"({"secret":")" + text(token, "secret") + R"("})");
  clock.advance_ms(999);
  EXPECT_EQ(code_of(ask_tcp("lock.list")), "");
  clock.advance_ms(1);
  const auto refused = ask_tcp("lock.list");
  EXPECT_EQ(code_of(refused), "UNAUTHENTICATED");
  EXPECT_EQ(refused.at("error").at("data").at("details").at("reason").as_string(), "expired");
}

// A secret whose digest begins or ends like a token's is still rejected.
TEST_F(RpcAccess, APartOfTheDigestIsNotEnough) {
  const Digest whole = digest_of_secret(text(issue(R"({"name":"ci","role":"viewer"})"), "secret"));
  bool begins = false;
  bool ends = false;
  for (int guess = 0; !begins || !ends; ++guess) {
    const std::string secret = "sbx_" + std::to_string(guess);
    const Digest digest = digest_of_secret(secret);
    const bool same_begin = digest.bytes.front() == whole.bytes.front();
    const bool same_end = digest.bytes.back() == whole.bytes.back();
    if (!same_begin && !same_end) continue;
    EXPECT_FALSE(authentication.token_of(secret).has_value()) << secret;
    begins = begins || same_begin;
    ends = ends || same_end;
  }
}

TEST_F(RpcAccess, TheSecretIsNowhereButInTheFirstAnswer) {
  const auto token = issue(R"({"name":"ci","role":"worker","command_id":"c1"})");
  const std::string secret = text(token, "secret");
  ask_tcp("server.authenticate", R"({"secret":")" + secret + R"("})");
  EXPECT_EQ(log_text().find(secret), std::string::npos);
  EXPECT_EQ(log_text().find(secret.substr(4)), std::string::npos);
  EXPECT_NE(log_text().find(to_hex(digest_of_secret(secret))), std::string::npos);
  const auto listed = ask("access.list");
  EXPECT_EQ(json::serialize(listed).find(secret.substr(4)), std::string::npos);
  EXPECT_EQ(json::serialize(listed).find("sha256"), std::string::npos);
  EXPECT_EQ(text(listed.at("result").at("tokens").at(0).as_object(), "status"), "usable");
  const auto wrong =
      ask_tcp("server.authenticate",
              R"({"secrets":")" + secret + R"("})");  // a typing error in the param's name
  EXPECT_EQ(code_of(wrong), "INVALID_PARAMS");
  EXPECT_EQ(json::serialize(wrong).find(secret), std::string::npos);
}

TEST_F(RpcAccess, ARepeatedIssueTellsTheTokenButNotItsSecret) {
  const std::string params = R"({"name":"ci","role":"worker","command_id":"c1"})";
  const auto first = issue(params);
  const auto again = issue(params);
  EXPECT_EQ(text(again, "id"), text(first, "id"));
  EXPECT_TRUE(again.at("replayed").as_bool());
  EXPECT_TRUE(again.at("secret").is_null());
  EXPECT_EQ(events_of("AccessTokenIssued"), 1U);
  EXPECT_EQ(code_of(ask("access.issue", R"({"name":"ci","role":"admin","command_id":"c1"})")),
            "IDEMPOTENCY_CONFLICT");
}

TEST_F(RpcAccess, AGuessedSecretIsRefusedAndLogged) {
  const auto refused = ask_tcp("server.authenticate", R"({"secret":"sbx_guess"})");
  EXPECT_EQ(code_of(refused), "UNAUTHENTICATED");
  EXPECT_EQ(refused.at("error").at("data").at("details").at("reason").as_string(), "unknown");
  EXPECT_EQ(events_of("AccessDenied"), 1U);
  EXPECT_EQ(log_text().find("guess"), std::string::npos);
}

// Without a secret, a loopback peer may do nothing, whether a token was issued or not.
TEST_F(RpcAccess, LoopbackIsNobodyWithoutAToken) {  // G9
  EXPECT_EQ(code_of(ask_tcp("server.status")), "UNAUTHENTICATED");
  EXPECT_EQ(code_of(ask_tcp("run.start", R"({"goal":"g"})")), "UNAUTHENTICATED");
  EXPECT_EQ(code_of(ask_tcp("access.issue", R"({"name":"x","role":"admin"})")), "UNAUTHENTICATED");
  const auto token = issue(R"({"name":"ci","role":"worker"})");
  EXPECT_EQ(code_of(ask_tcp("lock.list")), "UNAUTHENTICATED");
  ask("access.revoke", R"({"id":")" + text(token, "id") + R"(","reason":"lost"})");
  EXPECT_EQ(code_of(ask_tcp("lock.list")), "UNAUTHENTICATED");
  EXPECT_GE(events_of("AccessDenied"), 2U);
  EXPECT_EQ(events_of("RunStarted"), 0U);
}

// The command that a refusal names works as it is: the token has a free name, and the role that the
// request needs.
TEST_F(RpcAccess, ARefusalNamesACommandThatWorks) {  // G9
  const auto named = [](const json::object& refused) {
    const auto& data = refused.at("error").at("data").as_object();
    return std::string(data.at("next_commands").as_array().at(0).as_string());
  };
  EXPECT_EQ(named(ask_tcp("run.start", R"({"goal":"g"})")),
            "signalbox access issue my-machine --role operator");
  issue(R"({"name":"my-machine","role":"operator"})");
  EXPECT_EQ(named(ask_tcp("lock.list")), "signalbox access issue my-machine-2 --role viewer");
  const auto brief = issue(R"({"name":"brief","role":"worker","expires_in_ms":1000})");
  ask_tcp("server.authenticate", R"({"secret":")" + text(brief, "secret") + R"("})");
  clock.advance_ms(1000);
  EXPECT_EQ(named(ask_tcp("lock.acquire", R"({"key":"k","owner":"me"})")),
            "signalbox access issue brief --role worker");
  issue(R"({"name":"brief","role":"worker"})");
  EXPECT_EQ(named(ask_tcp("no.such_method")), "signalbox access issue brief-2 --role viewer");
  EXPECT_EQ(named(ask_tcp("server.authenticate", R"({"secret":"sbx_guess"})")),
            "signalbox access issue my-machine-2 --role viewer");
}

TEST_F(RpcAccess, WhoIsWho) {
  Authentication::Settings settings;
  settings.server_uid = 1000;
  const Authentication who(engine, clock, settings);
  EXPECT_EQ(who.unix_peer(1000), (Principal{"uid:1000", Role::admin}));
  EXPECT_EQ(who.unix_peer(0), (Principal{"uid:0", Role::admin}));
  EXPECT_EQ(who.unix_peer(1001), (Principal{"uid:1001", Role::viewer}));
  EXPECT_EQ(who.tcp_peer("127.0.0.1", true, {}).error().code, ErrorCode::UNAUTHENTICATED);
  EXPECT_FALSE(who.tcp_peer("192.0.2.7", false, {}).has_value());
  const auto token = issue(R"({"name":"ci","role":"viewer"})");
  const std::string secret = text(token, "secret");
  Principal ci{"token:ci", Role::viewer};
  ci.access_token = *parse_uuid(text(token, "id"));
  EXPECT_EQ(who.tcp_peer("192.0.2.7", false, secret), ci);
  EXPECT_EQ(who.tcp_peer("127.0.0.1", true, secret), ci);
  // A token determines the principal: the server's own user with a viewer's token is a viewer.
  EXPECT_EQ(who.unix_peer(1000, secret), ci);
  EXPECT_EQ(who.unix_peer(1000, secret + "x").error().code, ErrorCode::UNAUTHENTICATED);
  EXPECT_FALSE(who.unix_peer(1000, "").has_value());
}

TEST_F(RpcAccess, TheConfigurationHasTheLastWordOnLoopback) {
  Authentication::Settings settings;
  settings.loopback_role = Role::viewer;
  const Authentication always(engine, clock, settings);
  settings.loopback_role.reset();
  const Authentication never(engine, clock, settings);
  EXPECT_FALSE(never.tcp_peer("127.0.0.1", true, {}).has_value());
  issue(R"({"name":"ci","role":"viewer"})");
  EXPECT_EQ(always.tcp_peer("127.0.0.1", true, {})->role, Role::viewer);
  EXPECT_FALSE(always.tcp_peer("192.0.2.7", false, {}).has_value());
}

TEST_F(RpcAccess, WhereEachRequestBringsItsTokenThereIsNothingToAuthenticate) {
  const auto token = issue(R"({"name":"ci","role":"viewer"})");
  EXPECT_EQ(code_of(ask("server.authenticate", R"({"secret":")" + text(token, "secret") + R"("})")),
            "NOT_ALLOWED");
}

// An unauthenticated caller can't learn which methods exist.
TEST_F(RpcAccess, AStrangerLearnsNoMethods) {
  issue(R"({"name":"ci","role":"viewer"})");
  EXPECT_EQ(code_of(ask_tcp("no.such_method")), "UNAUTHENTICATED");
}

}  // namespace
}  // namespace signalbox
