// Who may do what: viewers see no fencing token, and jobs have to do with their own run only.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/access/job_secret.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

const Principal eve_the_viewer{"token:eve", Role::viewer};
const Principal wes_the_worker{"token:wes", Role::worker};

// Collects the numbers that stand under the name of a fencing token.
void collect_tokens(const json::value& value, std::set<std::string>& found) {
  if (const auto* array = value.if_array()) {
    for (const json::value& each : *array) collect_tokens(each, found);
  }
  const auto* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& [name, each] : *object) {
    const bool is_token = name.ends_with("token") && name != "run_token" && each.is_number();
    if (is_token) found.insert(std::string(name));
    collect_tokens(each, found);
  }
}

// Returns true for the names of positions. They are facts of the log, although the position of a
// grant is its token.
bool names_position(std::string_view name) {
  return name.ends_with("position") || name == "cause" || name == "from" || name == "next_from" ||
         name == "next_cursor";
}

// Returns true for the attribute of a position as OTLP has it: {"key": …, "value": …}.
bool is_position_attribute(const json::object& object) {
  const auto* key = object.if_contains("key");
  return key != nullptr && key->is_string() && object.contains("value") &&
         names_position(std::string(key->as_string()));
}

// Collects where one of `tokens` stands, as a number or as a word of a text, other than as a
// position.
void collect_places(const json::value& value, const std::string& path,
                    const std::set<std::string>& tokens, std::vector<std::string>& places) {
  if (const auto* array = value.if_array()) {
    for (const json::value& each : *array) collect_places(each, path + "[]", tokens, places);
  } else if (const auto* object = value.if_object()) {
    if (is_position_attribute(*object)) return;
    for (const auto& [name, each] : *object) {
      const std::string key(name);
      if (!names_position(key)) collect_places(each, path + "." + key, tokens, places);
    }
  } else {
    const std::string text =
        value.is_string() ? std::string(value.as_string()) : json::serialize(value);
    std::string word;
    for (const char c : text + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        word += c;
      } else {
        if (tokens.contains(word)) places.push_back(path + ": " + text);
        word.clear();
      }
    }
  }
}

class RpcPrincipals : public ::testing::Test, protected RpcSite {
 protected:
  json::object ask_as(const Principal& principal, const std::string& method,
                      const std::string& params = "{}") {
    dispatcher.handle(request(method, params), principal, peer);
    settle();
    return peer->next();
  }
  static std::string code_of(const json::object& answer) {
    if (!answer.contains("error")) return {};
    return std::string(answer.at("error").at("data").at("code").as_string());
  }
  // Starts a run with a job under way, which is allowed what the array names. Returns its id.
  std::string start_job(const std::string& allow = R"(["locks","ticks"])") {
    const std::string id = start_run(
        R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go","executor":"process","command":["true"],"allow":)" +
        allow + "}]}}");
    take(DispatchStation{*parse_uuid(id), ids.next_span_id(), {}});
    return id;
  }
  [[nodiscard]] std::string job_id_of(const std::string& run_id) const {
    return engine.world().find_run(*parse_uuid(run_id))->attempt->job_id;
  }

  // Makes something of everything that has a token. The tokens are numbers that nothing else in an
  // answer is.
  void populate() {
    for (int padding = 0; padding < 1'300; ++padding) take(NoteClockJump{1, 1, "padding"});
    populated_from_ = log.tail() + 1;
    const std::string lock = ask_result("lock.acquire", R"({"key":"deploy","owner":"ann"})");
    run_ = start_run(
        R"({"goal":"g","pipeline":{"name":"q","station":[{"name":"one"},{"name":"two"}]}})");
    const auto claim = ask("station.claim", R"({"worker":"w","lock_token":)" + lock +
                                                R"(,"run_id":")" + run_ + R"("})");
    ASSERT_TRUE(claim.contains("result")) << json::serialize(claim);
    ask("station.heartbeat", R"({"run_id":")" + run_ + R"(","station":"one","token":)" +
                                 json::serialize(claim.at("result").at("claim").at("token")) + "}");
    ask_result("tick.begin", R"({"loop":"nightly","lock_token":)" + lock + "}");
    ask("tick.begin", R"({"loop":"nightly"})");  // refused and recorded
    ask("lock.refresh", R"({"key":"deploy","token":1})");
    deep_ = start_run(
        R"({"goal":"g","pipeline":{"name":"d","station":[{"name":"deep","executor":"deep_work","deep_work":{"step":{"command":["true"]}}}]}})");
    take(DispatchStation{*parse_uuid(deep_), ids.next_span_id(), {}});
    const std::string own =
        std::to_string(engine.world().find_run(*parse_uuid(deep_))->attempt->token);
    const std::string head = R"({"run_id":")" + deep_ + R"(","station":"deep","token":)" + own;
    ask("plan.set_exploration", head + "}");
    ask("plan.set", head + R"(,"steps":[{"id":"s"}]})");
    ask("step.next", R"({"worker":"w","run_id":")" + deep_ + R"(","token":)" + own + "}");
  }
  std::string ask_result(const std::string& method, const std::string& params) {
    const auto answer = ask(method, params);
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    return json::serialize(answer.at("result").at("token"));
  }

  // Returns params with which the query finds what populate() made.
  [[nodiscard]] std::string params_of(const Method& method) const {
    static const std::map<std::string, std::string> values = {
        {"key", R"("deploy")"}, {"types", "[]"}, {"otlp", "true"}};
    json::object params;
    for (const std::string& name : method.params) {
      const auto value = values.find(name);
      if (value != values.end() && !(name == "types")) params[name] = json::parse(value->second);
      if (name == "from") params[name] = populated_from_;
    }
    const bool of_a_plan = method.name == "plan.get";
    if (std::find(method.params.begin(), method.params.end(), "run_id") != method.params.end() &&
        method.name != "events.read" && method.name != "events.subscribe" &&
        method.name != "tick.list") {
      params["run_id"] = of_a_plan ? deep_ : run_;
    }
    return json::serialize(params);
  }

  // Returns the tokens that are granted at present, as text.
  [[nodiscard]] std::set<std::string> live_tokens() const {
    std::set<std::string> tokens;
    const World& world = engine.world();
    for (const auto& [key, lock] : world.locks) tokens.insert(std::to_string(lock.token));
    for (const auto& [loop, tick] : world.ticks) tokens.insert(std::to_string(tick.token));
    for (const auto& [id, run] : world.runs) {
      if (run->attempt) tokens.insert(std::to_string(run->attempt->token));
      if (!run->plan) continue;
      for (const StepState& step : run->plan->steps) {
        if (step.token != 0) tokens.insert(std::to_string(step.token));
      }
    }
    return tokens;
  }
  // Asks, and returns where one of `tokens` stands in the answer and in what was delivered.
  std::vector<std::string> places_of_tokens(const Principal& principal, const Method& method,
                                            const std::set<std::string>& tokens) {
    peer = std::make_shared<ListeningPeer>();
    std::vector<std::string> places;
    const auto answer = ask_as(principal, std::string(method.name), params_of(method));
    collect_places(answer, "answer", tokens, places);
    for (const std::string& line : peer->delivered) {
      collect_places(json::parse(line), "delivered", tokens, places);
    }
    return places;
  }

  std::string run_;
  std::string deep_;
  Position populated_from_ = 1;
};

TEST_F(RpcPrincipals, AViewerSeesNoTokenInAnyQuery) {  // G8
  populate();
  std::set<std::string> shown_to_worker;
  for (const Method& method : dispatcher.methods()) {
    if (method.needs != Role::viewer) continue;
    SCOPED_TRACE(method.name);
    const std::string params = params_of(method);
    std::set<std::string> shown;
    collect_tokens(ask_as(eve_the_viewer, std::string(method.name), params), shown);
    for (const std::string& line : peer->delivered) collect_tokens(json::parse(line), shown);
    EXPECT_TRUE(shown.empty()) << *shown.begin() << " of " << shown.size();
    peer = std::make_shared<ListeningPeer>();
    const auto answer = ask_as(wes_the_worker, std::string(method.name), params);
    collect_tokens(answer, shown_to_worker);
    for (const std::string& line : peer->delivered) {
      collect_tokens(json::parse(line), shown_to_worker);
    }
    peer = std::make_shared<ListeningPeer>();
  }
  // The queries did show them to somebody else.
  EXPECT_TRUE(shown_to_worker.contains("token") && shown_to_worker.contains("lock_token"));
}

// Wherever it stands: under another name, as text, in a command to paste, in a trace.
TEST_F(RpcPrincipals, NoAnswerToAViewerHasATokenAnywhere) {  // G8
  populate();
  const auto tokens = live_tokens();
  ASSERT_GE(tokens.size(), 4U);
  std::size_t shown_to_worker = 0;
  for (const Method& method : dispatcher.methods()) {
    if (method.needs != Role::viewer) continue;
    SCOPED_TRACE(method.name);
    const auto places = places_of_tokens(eve_the_viewer, method, tokens);
    EXPECT_TRUE(places.empty()) << places.front();
    shown_to_worker += places_of_tokens(wes_the_worker, method, tokens).size();
  }
  EXPECT_GE(shown_to_worker, tokens.size());
}

TEST(HideTokens, LeavesOutCommandsThatGiveOne) {  // G8
  auto answer =
      json::parse(
          R"({"reasons":[{"next_commands":["signalbox run get R","x --token 7 -y","x --lock-token 7"]}],)"
          R"("next_commands":"not a list"})")
          .as_object();
  hide_tokens(answer);
  EXPECT_EQ(json::serialize(answer), R"({"reasons":[{"next_commands":["signalbox run get R"]}],)"
                                     R"("next_commands":"not a list"})");
}

TEST_F(RpcPrincipals, AnAdminActsForAllAndAnOperatorForItself) {  // G8
  const std::string token = ask_result("lock.acquire", R"({"key":"deploy","owner":"ann"})");
  const std::string release = R"({"key":"deploy","token":)" + token + "}";
  EXPECT_EQ(code_of(ask_as({"token:op", Role::operator_}, "lock.release", release)), "FORBIDDEN");
  const auto types = event_types();
  EXPECT_EQ(std::count(types.begin(), types.end(), "AccessDenied"), 1) << "it is in the log";
  EXPECT_EQ(code_of(ask_as({"token:root", Role::admin}, "lock.release", release)), "");
}

TEST_F(RpcPrincipals, AJobReportsReadsItsOwnRunAndUsesLocksAndTicks) {  // G10
  const std::string id = start_job();
  const Principal job = authentication.job(job_id_of(id)).value();
  EXPECT_EQ(job.actor, "job:" + id + "/go/1");
  EXPECT_EQ(job.role, Role::job);
  std::set<std::string> open;
  for (const Method& method : dispatcher.methods()) {
    const auto answer =
        ask_as(job, std::string(method.name), R"({"no such param":1,"run_id":")" + id + R"("})");
    if (code_of(answer) != "FORBIDDEN") open.insert(std::string(method.name));
  }
  EXPECT_EQ(open, (std::set<std::string>{"station.heartbeat",
                                         "station.set_external_ref",
                                         "station.complete",
                                         "station.defer",
                                         "station.request_approval",
                                         "plan.set_exploration",
                                         "plan.set",
                                         "plan.get",
                                         "step.next",
                                         "step.heartbeat",
                                         "step.complete",
                                         "step.fail",
                                         "run.get",
                                         "run.why",
                                         "run.trace",
                                         "run.artifact",
                                         "run.fence",
                                         "events.read",
                                         "events.subscribe",
                                         "lock.acquire",
                                         "lock.refresh",
                                         "lock.release",
                                         "lock.get",
                                         "lock.list",
                                         "tick.begin",
                                         "tick.end",
                                         "tick.list",
                                         "server.status",
                                         "server.limits",
                                         "server.authenticate"}));
  const std::string other = start_job();
  EXPECT_EQ(code_of(ask_as(job, "run.get", R"({"run_id":")" + other + R"("})")), "FORBIDDEN");
  EXPECT_EQ(code_of(ask_as(job, "run.get", "{}")), "FORBIDDEN");
  EXPECT_EQ(code_of(ask_as(job, "events.read", "{}")), "FORBIDDEN");
  EXPECT_EQ(code_of(ask_as(job, "tick.begin", R"({"loop":"l","run_id":")" + other + R"("})")),
            "FORBIDDEN");
  EXPECT_EQ(code_of(ask_as(job, "lock.acquire", R"({"key":"k","owner":"me"})")), "");
  EXPECT_EQ(code_of(ask_as(job, "tick.begin", R"({"loop":"l"})")), "");
}

TEST_F(RpcPrincipals, AJobUsesLocksAndTicksOnlyIfItsStationAllowsIt) {  // G10
  const std::map<std::string, std::string> params = {
      {"lock.acquire", R"({"key":"k","owner":"me"})"},
      {"lock.refresh", R"({"key":"k","token":1})"},
      {"lock.release", R"({"key":"k","token":1})"},
      {"tick.begin", R"({"loop":"l"})"},
      {"tick.end", R"({"loop":"l","token":1,"outcome":"succeeded"})"}};
  const std::string id = start_job("[]");
  const Principal job = authentication.job(job_id_of(id)).value();
  for (const auto& [method, each] : params) {
    SCOPED_TRACE(method);
    const auto answer = ask_as(job, method, each);
    ASSERT_EQ(code_of(answer), "FORBIDDEN") << json::serialize(answer);
    const json::object& details = answer.at("error").at("data").at("details").as_object();
    EXPECT_EQ(details.at("key").as_string(), "allow");
    EXPECT_EQ(details.at("value").as_string(), method.starts_with("lock") ? "locks" : "ticks");
    EXPECT_EQ(details.at("station").as_string(), "go");
    EXPECT_EQ(answer.at("error").at("data").at("next_commands").at(0).as_string(),
              "signalbox run get " + id);
  }
  EXPECT_EQ(code_of(ask_as(job, "lock.list")), "") << "reading is no use of a lock";

  const Principal locker = authentication.job(job_id_of(start_job(R"(["locks"])"))).value();
  EXPECT_EQ(code_of(ask_as(locker, "tick.begin", params.at("tick.begin"))), "FORBIDDEN");
  const auto lock = ask_as(locker, "lock.acquire", params.at("lock.acquire"));
  ASSERT_EQ(code_of(lock), "") << json::serialize(lock);
  const std::string held =
      R"({"key":"k","token":)" + json::serialize(lock.at("result").at("token")) + "}";
  EXPECT_EQ(code_of(ask_as(locker, "lock.refresh", held)), "");
  // It is the lock of this job, and of no other one that may use locks as well.
  const Principal other = authentication.job(job_id_of(start_job())).value();
  EXPECT_EQ(code_of(ask_as(other, "lock.release", held)), "FORBIDDEN");
  EXPECT_EQ(code_of(ask_as(locker, "lock.release", held)), "");
}

TEST_F(RpcPrincipals, TheRightsOfAJobEndWithItsAttempt) {  // G10
  const std::string id = start_job();
  const std::string job_id = job_id_of(id);
  EXPECT_TRUE(authentication.job(job_id).has_value());
  CompleteStation end;
  end.run_id = *parse_uuid(id);
  end.station = "go";
  end.token = engine.world().find_run(end.run_id)->attempt->token;
  end.from_executor = true;
  ASSERT_TRUE(engine.begin(by_the_service).apply(end).has_value());
  commit_all();
  EXPECT_EQ(authentication.job(job_id).error().code, ErrorCode::UNAUTHENTICATED);
  EXPECT_EQ(authentication.job("nonsense").error().code, ErrorCode::UNAUTHENTICATED);
}

TEST_F(RpcPrincipals, NoJobDecidesAnApprovalWhoseverTokenItShows) {  // G10
  const std::string asking = start_run(
      R"({"goal":"g","pipeline":{"name":"a","station":[{"name":"ask","executor":"approval"}]}})");
  const std::string approve =
      R"({"decision":"approve","station":"ask","run_id":")" + asking + R"("})";
  const std::string id = start_job();
  Principal job = authentication.job(job_id_of(id)).value();
  EXPECT_EQ(code_of(ask_as(job, "run.resume", approve)), "FORBIDDEN");
  job.actor = "token:stolen";
  job.role = Role::operator_;
  EXPECT_EQ(code_of(ask_as(job, "run.resume", approve)), "FORBIDDEN");
  job.role = Role::admin;
  EXPECT_EQ(code_of(ask_as(job, "run.resume", approve)), "FORBIDDEN");
  std::string denied;
  EXPECT_TRUE(log.scan(1, log.tail(), [&denied](Record&& record) {
    if (const auto* event = event_as<AccessDenied>(record.event)) denied = event->actor;
    return true;
  }));
  EXPECT_EQ(denied, "job:" + id + "/go/1");
  Principal gone{"token:x", Role::operator_};
  gone.process_is_gone = true;
  EXPECT_EQ(code_of(ask_as(gone, "run.resume", approve)), "FORBIDDEN");
  Principal unknown{"tcp:127.0.0.1", Role::operator_};
  unknown.process_is_unknown = true;
  EXPECT_EQ(code_of(ask_as(unknown, "run.resume", approve)), "FORBIDDEN");
  EXPECT_EQ(code_of(ask_as({"token:x", Role::operator_}, "run.resume", approve)), "");
}

// The command itself refuses the token, which the role alone doesn't decide.
TEST_F(RpcPrincipals, TheRefusalOfATokenNamesTheJobWhoseverAccessTokenItShows) {  // G10
  const std::string token = ask_result("lock.acquire", R"({"key":"deploy","owner":"ann"})");
  const std::string id = start_job();
  Principal job = authentication.job(job_id_of(id)).value();
  job.actor = "token:stolen";
  job.role = Role::worker;
  EXPECT_EQ(code_of(ask_as(job, "lock.release", R"({"key":"deploy","token":)" + token + "}")),
            "FORBIDDEN");
  std::string denied;
  EXPECT_TRUE(log.scan(1, log.tail(), [&denied](Record&& record) {
    if (const auto* event = event_as<AccessDenied>(record.event)) denied = event->actor;
    return true;
  }));
  EXPECT_EQ(denied, "job:" + id + "/go/1");
}

TEST_F(RpcPrincipals, AJobAsksForAnApprovalAndDoesntGiveIt) {  // G10
  const std::string id = start_job();
  const Principal job = authentication.job(job_id_of(id)).value();
  const auto run = [&] { return engine.world().find_run(*parse_uuid(id)); };
  const std::string request = R"({"station":"go","question":"may I?","token":)" +
                              std::to_string(run()->attempt->token) +
                              R"(,"command_id":"ask-1","run_id":")" + id + R"("})";
  for (int again = 0; again < 2; ++again) {
    const auto asked = ask_as(job, "station.request_approval", request);
    ASSERT_EQ(code_of(asked), "") << json::serialize(asked);
    EXPECT_TRUE(asked.at("result").at("requested").as_bool());
  }
  const auto types = event_types();
  EXPECT_EQ(std::count(types.begin(), types.end(), "StationApprovalRequested"), 1);
  const std::string approve = R"({"decision":"approve","run_id":")" + id + R"("})";
  EXPECT_EQ(code_of(ask_as(job, "run.resume", approve)), "FORBIDDEN");

  // The job ends before somebody has decided.
  CompleteStation end;
  end.run_id = *parse_uuid(id);
  end.station = "go";
  end.token = run()->attempt->token;
  end.from_executor = true;
  take(end);
  ASSERT_NE(run(), nullptr) << "the run waits";
  EXPECT_FALSE(run()->attempt.has_value());
  const auto approved = ask_as({"uid:7", Role::operator_}, "run.resume", approve);
  ASSERT_EQ(code_of(approved), "") << json::serialize(approved);
  EXPECT_EQ(approved.at("result").at("status").as_string(), "succeeded");
}

TEST_F(RpcPrincipals, WhoAProcessIs) {  // G10
  Authentication::Settings settings;
  settings.server_uid = 1000;
  settings.job_key = std::string(32, 'k');
  const Authentication who(engine, clock, settings);
  const std::string id = start_job();
  const std::string job_id = job_id_of(id);
  const std::string actor = "job:" + id + "/go/1";
  Caller caller;
  caller.uid = 1000;
  EXPECT_EQ(who.of(caller)->role, Role::admin);
  caller.process_is_gone = true;  // nobody knows whether it was a job
  EXPECT_EQ(who.of(caller).error().code, ErrorCode::UNAUTHENTICATED);
  caller.uid = 1001;  // no job runs as this user
  EXPECT_EQ(who.of(caller)->role, Role::viewer);
  caller = {};
  caller.uid = 1000;
  caller.job_id = job_id;
  EXPECT_EQ(who.of(caller)->actor, actor);
  EXPECT_EQ(who.of(caller)->role, Role::job);
  EXPECT_EQ(caller.actor(), actor);
  const std::string secret = std::string(ask("access.issue", R"({"name":"op","role":"operator"})")
                                             .at("result")
                                             .at("secret")
                                             .as_string());
  EXPECT_EQ(who.of(caller, secret)->actor, "token:op");
  EXPECT_EQ(who.of(caller, secret)->job->actor, actor);

  // Over TCP the kernel names no process, so a client without a token may be a job.
  settings.loopback_role = Role::operator_;
  const Authentication open_to_all(engine, clock, settings);
  Caller local;
  local.address = "127.0.0.1";
  local.loopback = true;
  EXPECT_EQ(open_to_all.of(local)->role, Role::operator_);
  EXPECT_FALSE(open_to_all.of(local)->may_approve());
  EXPECT_TRUE(open_to_all.of(local, secret)->may_approve());

  // A secret makes a job of a connection that isn't one by its process.
  const std::string own = make_job_secret(settings.job_key, job_id);
  caller.job_id.reset();
  EXPECT_EQ(who.of(caller, own)->actor, actor);
  EXPECT_EQ(job_of_secret(settings.job_key, own), job_id);
  EXPECT_FALSE(job_of_secret(std::string(32, 'x'), own));
  EXPECT_FALSE(job_of_secret("", own));
  EXPECT_FALSE(job_of_secret(settings.job_key, own + "0"));
  EXPECT_EQ(who.of(caller, own + "0").error().code, ErrorCode::UNAUTHENTICATED);
  // But another job's secret makes no other job of a job.
  const std::string other = start_job();
  caller.job_id = job_id_of(other);
  EXPECT_EQ(who.of(caller, own)->actor, "job:" + other + "/go/1");
}

}  // namespace
}  // namespace signalbox
