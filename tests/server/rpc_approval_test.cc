// Who asks for an approval, who decides it, and which question a decision answers.
#include <algorithm>

#include <boost/json/serialize.hpp>

#include "tests/server/principals_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcApprovals : public PrincipalsSite {
 protected:
  // Has the job under way ask a person. Returns the position of its question.
  Position question(const std::string& id, const std::string& text) {
    const auto run = [&] { return engine.world().find_run(*parse_uuid(id)); };
    const auto asked =
        ask_as(authentication.job(job_id_of(id)).value(), "station.request_approval",
               R"({"station":"go","token":)" + std::to_string(run()->attempt->token) +
                   R"(,"run_id":")" + id + R"(","question":")" + text + R"("})");
    EXPECT_EQ(code_of(asked), "") << json::serialize(asked);
    return run()->asked_at;
  }
  // Returns the command that ends the attempt under way with success.
  [[nodiscard]] CompleteStation end_of(const std::string& id) const {
    CompleteStation end;
    end.run_id = *parse_uuid(id);
    end.station = "go";
    end.token = engine.world().find_run(end.run_id)->attempt->token;
    end.from_executor = true;
    return end;
  }
  static std::string decision(const std::string& id, const std::string& decided, Position asked) {
    return R"({"run_id":")" + id + R"(","decision":")" + decided + R"(","asked":)" +
           std::to_string(asked) + "}";
  }
  // Returns the cause of the latest event of this type; 0: there is none.
  [[nodiscard]] Position cause_of(std::string_view type) const {
    Position cause = 0;
    EXPECT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
      if (tag_of(record.event).name == type) cause = record.cause;
      return true;
    }));
    return cause;
  }
};

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

// A command that was printed for the question of one attempt is no decision about that of the next.
TEST_F(RpcApprovals, ADecisionAnswersTheQuestionThatItNames) {  // G10
  const std::string id = start_job();
  const Position first = question(id, "may I drop the table?");
  CompleteStation failed = end_of(id);
  failed.outcome = Outcome::failed;
  failed.error_class = ErrorClass::transient;
  take(failed);
  take(WakeStation{*parse_uuid(id)});
  take(DispatchStation{*parse_uuid(id), ids.next_span_id(), {}});
  const Position second = question(id, "may I wipe the disk?");
  ASSERT_GT(second, first);

  const json::object shown = ask("run.get", R"({"run_id":")" + id + R"("})");
  const json::object& station = shown.at("result").at("run").at("stations").at(0).as_object();
  EXPECT_EQ(station.at("waiting_note").as_string(), "may I wipe the disk?");
  EXPECT_EQ(station.at("asked").to_number<Position>(), second);
  const json::object why = ask("run.why", R"({"run_id":")" + id + R"("})");
  const json::object& reason = why.at("result").at("reasons").at(0).as_object();
  EXPECT_EQ(reason.at("cause_position").to_number<Position>(), second);
  const std::string present = " --asked " + std::to_string(second);
  const std::string resume = "signalbox run resume " + id + " --station go --decision ";
  EXPECT_EQ(reason.at("next_commands").at(0).as_string(), resume + "approve" + present);
  EXPECT_EQ(reason.at("next_commands").at(1).as_string(),
            resume + "reject" + present + " --reason 'why'");

  for (const std::string decided : {"approve", "reject"}) {
    const json::object stale = ask("run.resume", decision(id, decided, first));
    ASSERT_EQ(code_of(stale), "NOT_WAITING_FOR_APPROVAL") << json::serialize(stale);
    const json::object details = details_of(stale);
    EXPECT_EQ(details.at("asked").to_number<Position>(), second);
    EXPECT_EQ(details.at("decided_asked").to_number<Position>(), first);
    const json::array& next = stale.at("error").at("data").at("next_commands").as_array();
    EXPECT_EQ(next.at(0).as_string(), "signalbox run why " + id);
    EXPECT_EQ(next.at(1).as_string(), resume + "approve" + present);
  }
  EXPECT_EQ(cause_of("StationApprovalGiven"), 0U) << "nothing was decided";

  const json::object decided = ask("run.resume", decision(id, "approve", second));
  EXPECT_EQ(code_of(decided), "") << json::serialize(decided);
  EXPECT_EQ(cause_of("StationApprovalGiven"), second);
  const json::object after = ask("run.get", R"({"run_id":")" + id + R"("})");
  EXPECT_FALSE(after.at("result").at("run").at("stations").at(0).as_object().contains("asked"));
}

// A result that is held leaves the question what it was.
TEST_F(RpcApprovals, AHeldResultIsDecidedByTheQuestionOfItsAttempt) {  // G10
  const std::string id = start_job();
  const Position asked = question(id, "may I?");
  take(end_of(id));
  const json::object shown = ask("run.get", R"({"run_id":")" + id + R"("})");
  EXPECT_EQ(shown.at("result").at("run").at("stations").at(0).at("asked").to_number<Position>(),
            asked);
  EXPECT_EQ(code_of(ask("run.resume", decision(id, "approve", asked - 1))),
            "NOT_WAITING_FOR_APPROVAL");
  const json::object decided = ask("run.resume", decision(id, "approve", asked));
  EXPECT_EQ(code_of(decided), "") << json::serialize(decided);
  EXPECT_EQ(cause_of("StationApproved"), asked);
}

TEST_F(RpcApprovals, ADecisionThatNamesNoQuestionIsAboutTheOpenOne) {  // G10
  const std::string id = start_job();
  const Position asked = question(id, "may I?");
  const std::string run_id = R"("run_id":")" + id + "\"";
  EXPECT_EQ(code_of(ask("run.resume", R"({"asked":1,)" + run_id + "}")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("run.resume", R"({"decision":"approve","asked":-1,)" + run_id + "}")),
            "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("run.resume", R"({"decision":"approve",)" + run_id + "}")), "");
  EXPECT_EQ(cause_of("StationApprovalGiven"), asked);
}

}  // namespace
}  // namespace signalbox
