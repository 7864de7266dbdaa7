// Who asks for an approval, and who decides it.
#include <algorithm>

#include <boost/json/serialize.hpp>

#include "tests/server/principals_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcApprovals : public PrincipalsSite {};

TEST_F(RpcApprovals, NoJobDecidesAnApprovalWhoseverTokenItShows) {  // G10
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

TEST_F(RpcApprovals, AJobAsksForAnApprovalAndDoesntGiveIt) {  // G10
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

}  // namespace
}  // namespace signalbox
