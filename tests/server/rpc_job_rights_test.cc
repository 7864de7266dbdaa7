// A job has to do with its own run only, and uses what its station allows.
#include <map>
#include <set>

#include <boost/json/serialize.hpp>

#include "server/access/secret.h"
#include "tests/server/principals_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcJobRights : public PrincipalsSite {};

TEST_F(RpcJobRights, AJobReportsReadsItsOwnRunAndUsesLocksAndTicks) {  // G10
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

// Its place says whose it is as a `run_id` does.
TEST_F(RpcJobRights, AJobNamesTheRunRootOfNoOtherRun) {  // G10
  api.run_root_rule = std::make_shared<RunRootRule>("/data", std::vector<std::filesystem::path>());
  const std::string id = start_job();
  const std::string other = start_job();
  const std::string named = start_run(R"({"goal":"g","run_root":"/roots/named"})");
  const Principal job = authentication.job(job_id_of(id)).value();
  for (const std::string& root : {"/data/runs/" + other, "/data/runs/./" + other + "/",
                                  std::string("/roots/named"), std::string("/roots//named/")}) {
    SCOPED_TRACE(root);
    const std::string place = R"("run_root":")" + root + R"("})";
    EXPECT_EQ(code_of(ask_as(job, "tick.begin", R"({"loop":"l",)" + place)), "FORBIDDEN");
    const auto refused = ask_as(job, "lock.acquire", R"({"key":"k","owner":"me",)" + place);
    ASSERT_EQ(code_of(refused), "FORBIDDEN");
    const std::string text = json::serialize(refused);
    EXPECT_NE(text.find("has to do with its own run only"), std::string::npos) << text;
    EXPECT_NE(text.find("signalbox run get " + id), std::string::npos) << text;
  }
  EXPECT_TRUE(engine.world().ticks.empty());
}

TEST_F(RpcJobRights, AJobUsesLocksAndTicksOnlyIfItsStationAllowsIt) {  // G10
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

TEST_F(RpcJobRights, ACodingAgentIsToldApartFromOtherJobs) {  // G10
  const std::string id = start_run(
      R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go","executor":"coderunner"}]}})");
  take(DispatchStation{*parse_uuid(id), ids.next_span_id(), {}});
  const Principal agent = authentication.job(job_id_of(id)).value();
  EXPECT_EQ(agent.actor, "agent:" + id + "/go/1");
  EXPECT_EQ(agent.role, Role::job);
  EXPECT_FALSE(agent.may_approve());
}

// It took them as the user whom it runs as, and its pipeline couldn't allow it any.
TEST_F(RpcJobRights, AJobThatBeganUnderAnEarlierVersionKeepsItsLocksAndTicks) {  // G10
  const Principal before{"uid:0", Role::worker};
  const auto grant = [&](const std::string& method, const std::string& params) {
    const auto granted = ask_as(before, method, params);
    EXPECT_EQ(code_of(granted), "") << json::serialize(granted);
    return json::serialize(granted.at("result").at("token"));
  };
  const std::string lock = grant("lock.acquire", R"({"key":"k","owner":"me"})");
  const std::string tick = grant("tick.begin", R"({"loop":"l"})");
  const std::string held = R"({"key":"k","token":)" + lock + "}";
  const std::string ended = R"({"loop":"l","outcome":"succeeded","token":)" + tick + "}";

  const Principal newer = authentication.job(job_id_of(start_job())).value();
  EXPECT_EQ(code_of(ask_as(newer, "lock.refresh", held)), "FORBIDDEN");
  EXPECT_EQ(code_of(ask_as(newer, "tick.end", ended)), "FORBIDDEN");
  const std::string id = start_job("[]", /*machine=*/"");
  const Principal older = authentication.job(job_id_of(id)).value();
  EXPECT_EQ(code_of(ask_as(older, "lock.refresh", held)), "");
  EXPECT_EQ(code_of(ask_as(older, "lock.release", held)), "");
  EXPECT_EQ(code_of(ask_as(older, "tick.end", ended)), "");
  EXPECT_EQ(code_of(ask_as(older, "run.start", R"({"goal":"more"})")), "FORBIDDEN");
  const std::string other = grant("lock.acquire", R"({"key":"k","owner":"me"})");
  EXPECT_EQ(code_of(ask_as({"token:ann", Role::worker}, "lock.release",
                           R"({"key":"k","token":)" + other + "}")),
            "FORBIDDEN");
}

TEST_F(RpcJobRights, TheRightsOfAJobEndWithItsAttempt) {  // G10
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

// The command itself refuses the token, which the role alone doesn't decide.
TEST_F(RpcJobRights, TheRefusalOfATokenNamesTheJobWhoseverAccessTokenItShows) {  // G10
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

TEST_F(RpcJobRights, WhoAProcessIs) {  // G10
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

// Its processes could keep everybody else from waiting.
TEST_F(RpcJobRights, AJobWaitsForFewThingsAtATime) {  // G7, G10
  const Principal job = authentication.job(job_id_of(start_job())).value();
  ask("lock.acquire", R"({"key":"k","owner":"ann"})");
  const std::string wait = request("lock.acquire", R"({"key":"k","owner":"bob","wait_ms":60000})");
  for (std::size_t count = 0; count < waiting_of_job_max; ++count) {
    dispatcher.handle(wait, job, peer);
  }
  EXPECT_TRUE(peer->lines.empty());
  dispatcher.handle(wait, job, peer);
  EXPECT_EQ(code_of(peer->next()), "OVERLOADED");
  EXPECT_EQ(locks.size(), waiting_of_job_max);
}

}  // namespace
}  // namespace signalbox
