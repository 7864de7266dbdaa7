// Tests `project.*` and `card.*` over the dispatcher.
#include "server/scheduler/crash_verdicts.h"
#include "tests/server/board_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using RpcBoard = BoardSite;

std::string next_of(const json::object& answer) {
  return std::string(answer.at("error").at("data").at("next_commands").at(0).as_string());
}

TEST_F(RpcBoard, AProjectIsPutOnceAndToldWhole) {  // H1
  const auto first = put("web");
  EXPECT_EQ(first.at("result").at("changed"), true);
  EXPECT_EQ(first.at("result").at("base"), "main");
  EXPECT_EQ(put("web").at("result").at("changed"), false);
  const auto got = ask("project.get", R"({"name":"web"})").at("result").at("project");
  EXPECT_EQ(got.at("repository"), json::value(repository));
  EXPECT_EQ(got.at("policy").at("max_concurrent_agents"), 2);
  EXPECT_TRUE(got.at("policy_digest").is_null());
  EXPECT_TRUE(got.at("refused").is_null());
  EXPECT_EQ(got.at("pipeline").at("name"), "p");
  EXPECT_EQ(got.at("stations").as_array().size(), 2U);
  EXPECT_EQ(code_of(ask("project.get", R"({"name":"no"})")), "PROJECT_NOT_FOUND");
}

TEST_F(RpcBoard, AProjectIsListedByNameInPages) {
  put("web");
  put("api");
  put("docs");
  const auto first = ask("project.list", R"({"limit":2})").at("result").as_object();
  ASSERT_EQ(first.at("projects").as_array().size(), 2U);
  EXPECT_EQ(first.at("projects").at(0).at("name"), "api");
  const auto rest = ask("project.list",
                        R"({"limit":2,"cursor":)" + json::serialize(first.at("next_cursor")) + "}")
                        .at("result");
  ASSERT_EQ(rest.at("projects").as_array().size(), 1U);
  EXPECT_EQ(rest.at("projects").at(0).at("name"), "web");
  EXPECT_TRUE(rest.at("next_cursor").is_null());
}

TEST_F(RpcBoard, AProjectsRepositoryIsLookedAt) {
  const auto put_at = [this](const std::string& path, const std::string& more = "") {
    return ask("project.put", R"({"name":"web","repository":")" + path + "\"" + more + "}");
  };
  const std::string here = root.path().string();
  const auto missing = put_at(here + "/none");
  EXPECT_EQ(code_of(missing), "INVALID_PARAMS");
  EXPECT_EQ(details_of(missing).at("field"), "repository");
  std::filesystem::create_directories(root.path() / "plain");
  const auto plain = put_at(here + "/plain");
  EXPECT_EQ(details_of(plain).at("field"), "repository");
  EXPECT_EQ(next_of(plain).rfind("git init ", 0), 0U) << next_of(plain);
  // After following its advice, the error is that the branch has no commit.
  EXPECT_TRUE(git(root.path(), {"init", "--initial-branch", "main", here + "/plain"}).ok);
  EXPECT_EQ(details_of(put_at(here + "/plain")).at("field"), "base");

  const std::string good = make_repository(root.path() / "site").string();
  std::filesystem::create_directories(root.path() / "site" / "inside");
  const auto inside = put_at(good + "/inside");
  EXPECT_EQ(details_of(inside).at("field"), "repository");
  EXPECT_NE(next_of(inside).find("--repository " + good + " "), std::string::npos);
  const auto trunk = put_at(good, R"(,"base":"trunk")");
  EXPECT_EQ(details_of(trunk).at("field"), "base");
  EXPECT_TRUE(next_of(trunk).ends_with(" --base main")) << next_of(trunk);
  // What is suggested is what was asked for, but for what is wrong.
  EXPECT_EQ(code_of(put("web")), "");
  const std::string keep = R"(,"base":"trunk","remote":"/srv/web.git","keep_pipeline":true)";
  const std::string kept = next_of(put_at(good, keep));
  EXPECT_TRUE(kept.ends_with(" --base main --remote /srv/web.git --keep-pipeline")) << kept;
  const std::string named = next_of(put("web", R"(,"base":"trunk")"));
  EXPECT_TRUE(named.ends_with(" --base main --pipeline FILE")) << named;
  EXPECT_EQ(details_of(put_at(good, R"(,"remote":"origin")")).at("field"), "remote");
  EXPECT_EQ(code_of(put_at(good, R"(,"remote":"/srv/web.git")")), "");
  EXPECT_EQ(code_of(put_at("site")), "INVALID_PARAMS") << "not absolute";
  run_git(root.path(), {"clone", "--quiet", "--bare", good, here + "/bare.git"});
  EXPECT_EQ(code_of(put_at(here + "/bare.git")), "") << "a bare one will do";
  EXPECT_EQ(code_of(put_at(good + "/.git")), "INVALID_PARAMS");
}

TEST_F(RpcBoard, TellsWhatIsWrongWithThePolicysFile) {  // H3
  put("web");
  Policy policy;
  policy.max_concurrent_agents = 5;
  take(AdoptPolicy{"web", Digest{{1}}, policy});
  take(RefusePolicy{"web", Digest{{2}}, 7, "there is no key maxAgents"});
  const auto got = ask("project.get", R"({"name":"web"})").at("result").at("project");
  EXPECT_EQ(got.at("policy").at("max_concurrent_agents"), 5) << "the last good one";
  EXPECT_EQ(got.at("refused").at("line"), 7);
  EXPECT_EQ(got.at("refused").at("message"), "there is no key maxAgents");
  EXPECT_EQ(got.at("refused").at("position"), log.tail());
  take(AdoptPolicy{"web", Digest{{3}}, policy});
  EXPECT_TRUE(
      ask("project.get", R"({"name":"web"})").at("result").at("project").at("refused").is_null());
}

TEST_F(RpcBoard, SaysWhichProjectsAreHeldAndWhy) {  // A8
  put("web");
  const std::string waits = submit("Fix it");
  const auto project = [this] {
    return ask("project.get", R"({"name":"web"})").at("result").at("project").as_object();
  };
  EXPECT_TRUE(project().at("policy_hold").is_null());
  EXPECT_EQ(ask("board.get", "{}").at("result").at("held").as_array().size(), 0U);

  take(RefusePolicy{"web", Digest{{4}}, 0, "it didn't answer within 10000 ms"});
  EXPECT_EQ(project().at("policy_hold"), "unreadable");
  EXPECT_EQ(why(waits).at("reasons").at(0).at("cause_position"), log.tail());

  take(RefusePolicy{"web", Digest{{2}}, 7, "there is no key telegram"});
  const Position refused = log.tail();
  EXPECT_EQ(project().at("policy_hold"), "never_understood");
  const auto listed = ask("project.list", "{}").at("result").at("projects").at(0);
  EXPECT_EQ(listed.at("policy_hold"), "never_understood");
  const auto status = ask("server.status", "{}").at("result").at("projects_held");
  EXPECT_EQ(status.at("total"), 1);
  EXPECT_EQ(status.at("projects").at(0), "web");
  const auto held = ask("board.get", "{}").at("result").at("held").at(0);
  EXPECT_EQ(held.at("project"), "web");
  EXPECT_EQ(held.at("reason"), "never_understood");
  EXPECT_EQ(card(waits).at("waiting").at("text"), held.at("text"));
  const auto reason = why(waits).at("reasons").at(0);
  EXPECT_EQ(reason.at("reason"), "policy");
  EXPECT_EQ(reason.at("cause_position"), refused);

  take(AdoptPolicy{"web", Digest{{3}}, {}});
  EXPECT_TRUE(project().at("policy_hold").is_null());
  take(AdoptPolicy{"web", {}, {}});
  EXPECT_EQ(project().at("policy_hold"), "gone");
  EXPECT_EQ(project().at("policy").at("merge_verified"), false);
  EXPECT_EQ(why(waits).at("reasons").at(0).at("cause_position"), log.tail());
}

TEST_F(RpcBoard, ACardIsSubmittedOnceForACommandId) {  // H1
  put("web");
  const std::string params =
      R"({"project":"web","title":"Fix it","brief":"All","key":"db","priority":3,"command_id":"c1"})";
  const auto first = ask("card.submit", params);
  EXPECT_EQ(first.at("result").at("status"), "backlog");
  EXPECT_EQ(triggers.size(), 1U);
  const auto again = ask("card.submit", params);
  EXPECT_EQ(again.at("result").at("card_id"), first.at("result").at("card_id"));
  EXPECT_EQ(again.at("result").at("replayed"), true);
  EXPECT_EQ(engine.world().board.cards().size(), 1U);
  EXPECT_EQ(code_of(ask("card.submit", R"({"project":"web","title":"No","command_id":"c1"})")),
            "IDEMPOTENCY_CONFLICT");
  submit("Later", R"(,"immediate":false)");
  EXPECT_EQ(triggers.size(), 1U) << "left to the heartbeat";
  EXPECT_EQ(code_of(ask("card.submit", R"({"project":"no","title":"x"})")), "PROJECT_NOT_FOUND");
  EXPECT_EQ(triggers.size(), 1U) << "of a refusal nothing follows";

  const auto got = card(std::string(first.at("result").at("card_id").as_string()));
  EXPECT_EQ(got.at("brief"), "All");
  EXPECT_EQ(got.at("key"), "db");
  EXPECT_EQ(got.at("priority"), 3);
  EXPECT_EQ(got.at("submitted_by"), "uid:1");
  EXPECT_EQ(got.at("waiting").at("reason"), "none");
  EXPECT_EQ(got.at("history").as_array().size(), 1U);
}

TEST_F(RpcBoard, AWaitingCardNamesItsHolders) {  // H4
  put("web");
  const std::string first = submit("First");
  const std::string second = submit("Second");
  const auto order = why(second);
  EXPECT_EQ(order.at("reasons").at(0).at("reason"), "order");
  EXPECT_EQ(order.at("reasons").at(0).at("holders").at(0).at("card_id"), json::value(first));
  const RunId run = start_next();
  const Position took = engine.world().find_run(run)->started_at;
  const json::value waiting = card(second).at("waiting");
  EXPECT_EQ(waiting.at("reason"), "concurrency");
  EXPECT_EQ(waiting.at("scope"), "project");
  EXPECT_EQ(waiting.at("limit"), 1);
  EXPECT_EQ(waiting.at("holders").at(0).at("title"), "First");
  EXPECT_EQ(waiting.at("holders").at(0).at("run_id"), json::value(to_string(run)));
  EXPECT_EQ(waiting.at("holders_total"), 1);
  const auto reason = why(second).at("reasons").at(0);
  EXPECT_EQ(reason.at("reason"), "concurrency");
  EXPECT_EQ(reason.at("cause_position"), took) << "the run that took the place";
  EXPECT_EQ(reason.at("cause_event"), "RunStarted");
  EXPECT_EQ(reason.at("next_commands").at(0), json::value("signalbox run why " + to_string(run)));

  const auto moving = why(first);
  EXPECT_EQ(moving.at("status"), "running");
  EXPECT_EQ(moving.at("run").at("run_id"), json::value(to_string(run)));
  EXPECT_EQ(moving.at("run").at("reasons").at(0).at("reason"), "no_worker");
  EXPECT_EQ(moving.at("moving"), false) << "as its run says";
  const auto of_run = ask("run.why", R"({"run_id":")" + to_string(run) + "\"}");
  EXPECT_EQ(of_run.at("result").at("card").at("card_id"), json::value(first));
  EXPECT_EQ(of_run.at("result").at("card").at("title"), "First");
}

TEST_F(RpcBoard, APolicyThatDoesntProcessIsTheCause) {
  put("web");
  const std::string id = submit("First");
  Policy policy;
  policy.process_backlog = false;
  take(AdoptPolicy{"web", Digest{{1}}, policy});
  const Position adopted = log.tail();
  submit("Second");
  const auto reason = why(id).at("reasons").at(0);
  EXPECT_EQ(reason.at("reason"), "policy");
  EXPECT_EQ(reason.at("cause_position"), adopted);
  EXPECT_EQ(reason.at("cause_event"), "PolicyAdopted");
}

TEST_F(RpcBoard, ABlockedCardSaysWhyAndGoesOn) {  // H5
  put("web");
  const std::string id = submit("First");
  const RunId run = start_next();
  EXPECT_EQ(code_of(ask("card.block", R"({"card_id":")" + id + R"(","reason":"wait"})")),
            "CARD_BUSY");
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"RED","error_message":"two tests fail")");
  const auto blocked = card(id);
  EXPECT_EQ(blocked.at("status"), "blocked");
  EXPECT_EQ(blocked.at("code"), "RED");
  EXPECT_TRUE(blocked.at("retry_at").is_string());
  EXPECT_TRUE(blocked.at("waiting").is_null());
  EXPECT_EQ(blocked.at("runs").at(0).at("run_id"), json::value(to_string(run)));
  const auto reason = why(id).at("reasons").at(0);
  EXPECT_EQ(reason.at("reason"), "blocked");
  EXPECT_EQ(reason.at("cause_event"), "CardBlocked");
  EXPECT_EQ(reason.at("until"), blocked.at("retry_at"));

  triggers.clear();
  const std::string unblock = R"({"card_id":")" + id + R"(","reason":"fixed","command_id":"u1"})";
  EXPECT_EQ(ask("card.unblock", unblock).at("result").at("changed"), true);
  EXPECT_EQ(ask("card.unblock", unblock).at("result").at("replayed"), true);
  EXPECT_EQ(triggers.size(), 1U);
  const std::string params = R"({"card_id":")" + id + "\"}";
  EXPECT_EQ(ask("card.unblock", params).at("result").at("changed"), false);
  const auto by_hand = ask("card.block", R"({"card_id":")" + id + R"(","reason":"a decision"})");
  EXPECT_EQ(by_hand.at("result").at("status"), "blocked");
  EXPECT_EQ(why(id).at("reasons").at(0).at("text"), "BLOCKED: a decision");
  EXPECT_FALSE(why(id).at("reasons").at(0).as_object().contains("until"));
}

// The commands are those that the service takes: a card's run isn't retried by itself.
TEST_F(RpcBoard, AFailedRunOfACardNamesWhatItsCardAllows) {  // A14
  put("web");
  const std::string id = submit("First");
  const RunId run = start_next();
  work("implement", "failed",
       R"(,"error_class":"config","error_code":"RED","error_message":"two tests fail")");
  const auto first_command = [this, run] {
    const auto answer = ask("run.why", R"({"run_id":")" + to_string(run) + "\"}");
    const auto reason = answer.at("result").at("reasons").at(0);
    return std::string(reason.at("next_commands").at(0).as_string());
  };
  EXPECT_EQ(first_command(), "signalbox card unblock " + id);
  EXPECT_EQ(code_of(ask("run.retry", R"({"run_id":")" + to_string(run) + "\"}")), "CARD_BUSY");
  EXPECT_EQ(code_of(ask("card.unblock", R"({"card_id":")" + id + "\"}")), "");
  EXPECT_EQ(first_command(), "signalbox card why " + id);
}

// Only its run continues, so the card's verdict refers to that.
TEST_F(RpcBoard, ACardInWorkHasOneVerdictAfterACrash) {  // H9
  put("web");
  submit("Waits");
  const std::string id = submit("Fix it", R"(,"priority":5)");
  const RunId run = start_next();
  const auto verdicts = crash_verdicts(
      engine.world(), [](const signalbox::Run&) -> Executed<JobState> { return JobState::running; },
      [](const signalbox::Run&) { return false; });
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].item.kind, RecoveredKind::card);
  EXPECT_EQ(verdicts[0].item.name, id);
  EXPECT_EQ(verdicts[0].item.verdict, Verdict::poll);
  EXPECT_NE(verdicts[0].item.evidence.find(to_string(run)), std::string::npos)
      << verdicts[0].item.evidence;
  EXPECT_EQ(verdicts[0].next_commands.front(), "signalbox card get " + id);
}

TEST_F(RpcBoard, AMergedCardIsStillFound) {
  put("web");
  const std::string id = submit("First");
  start_next();
  work("implement");
  EXPECT_EQ(card(id).at("status"), "running");
  work("verify", "succeeded", R"(,"external_ref":"c0ffee")");
  EXPECT_EQ(card(id).at("status"), "verified");
  EXPECT_EQ(why(id).at("reasons").at(0).at("reason"), "merge_next");
  start_merge(id);
  EXPECT_EQ(why(id).at("reasons").at(0).at("reason"), "merging");
  work("merge", "succeeded", R"(,"external_ref":"beef")");
  EXPECT_TRUE(engine.world().board.cards().empty());

  const auto merged = card(id);
  EXPECT_EQ(merged.at("status"), "merged");
  EXPECT_EQ(merged.at("commit"), "beef");
  EXPECT_EQ(merged.at("runs").as_array().size(), 2U);
  EXPECT_EQ(merged.at("runs").at(1).at("kind"), "merge");
  EXPECT_EQ(why(id).at("reasons").at(0).at("reason"), "merged");
  const auto listed = ask("card.list", R"({"project":"web","status":"merged"})").at("result");
  ASSERT_EQ(listed.at("cards").as_array().size(), 1U);
  EXPECT_EQ(listed.at("cards").at(0).at("card_id"), json::value(id));
  EXPECT_TRUE(listed.at("next_cursor").is_null());
  const auto counts =
      ask("project.get", R"({"name":"web"})").at("result").at("project").at("cards");
  EXPECT_EQ(counts.at("merged"), 1);
  EXPECT_EQ(counts.at("backlog"), 0);
  EXPECT_EQ(code_of(ask("card.get", R"({"card_id":"00000000-0000-0000-0000-0000000000ff"})")),
            "CARD_NOT_FOUND");
  EXPECT_EQ(code_of(ask("card.why", R"({"card_id":"00000000-0000-0000-0000-0000000000ff"})")),
            "CARD_NOT_FOUND");
}

TEST_F(RpcBoard, ARunThatWasPrunedIsStillFound) {  // H8
  const auto started = ask("run.start", R"({"goal":"g"})");
  const std::string run(started.at("result").at("run_id").as_string());
  const std::string about = R"({"run_id":")" + run + "\"}";
  ask("run.cancel", about);
  take(PruneRuns{});
  EXPECT_EQ(engine.world().ended_runs.size(), 0U);
  EXPECT_EQ(ask("run.get", about).at("result").at("run").at("status"), "canceled");
}

TEST_F(RpcBoard, ListsCardsWithWhatTheyWaitFor) {
  put("web");
  submit("First");
  submit("Second");
  const auto page = ask("card.list", R"({"status":"backlog","limit":1})").at("result").as_object();
  EXPECT_EQ(page.at("cards").at(0).at("title"), "Second");
  EXPECT_EQ(page.at("cards").at(0).at("waiting").at("reason"), "order");
  EXPECT_FALSE(page.at("cards").at(0).at("waiting").as_object().contains("holders"));
  const auto rest = ask("card.list", R"({"status":"backlog","limit":1,"cursor":)" +
                                         json::serialize(page.at("next_cursor")) + "}");
  EXPECT_EQ(rest.at("result").at("cards").at(0).at("title"), "First");
  EXPECT_EQ(code_of(ask("card.list", R"({"limit":501})")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("card.list", R"({"status":"done"})")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("card.list", R"({"status":["backlog","done"]})")), "INVALID_PARAMS");
  const auto several = ask("card.list", R"({"status":"backlog,merged"})").at("result").as_object();
  EXPECT_EQ(several.at("cards").as_array().size(), 2U) << json::serialize(several);
}

// Such a run has no worktree any more, and would be a second agent beside the card's next run.
TEST_F(RpcBoard, NoRunOfACardIsRetriedOnItsOwn) {
  put("web");
  const std::string id = submit("First");
  const std::string red = R"(,"error_class":"terminal","error_code":"RED","error_message":"no")";
  const RunId first = start_next();
  work("implement", "failed", red);
  const auto retry = [this](const RunId& run) {
    return ask("run.retry", R"({"run_id":")" + to_string(run) + "\"}");
  };
  EXPECT_EQ(next_of(retry(first)), "signalbox card unblock " + id);
  EXPECT_EQ(code_of(ask("card.unblock", R"({"card_id":")" + id + "\"}")), "");
  const RunId second = start_next();
  const auto older = retry(first);
  EXPECT_EQ(code_of(older), "CARD_BUSY");
  EXPECT_EQ(details_of(older).at("card_id"), json::value(id));
  EXPECT_EQ(details_of(older).at("status"), "running");
  EXPECT_EQ(next_of(older), "signalbox card get " + id);
  work("implement");
  work("verify");
  take(MergeCard{*parse_uuid(id), [this, &id] {
                   StartRun run = run_of_merge(*engine.world().find_project("web"),
                                               *engine.world().board.find(*parse_uuid(id)));
                   run.run_id = ids.next_run_id(0);
                   run.pipeline_digest.bytes.front() = 8;
                   return run;
                 }()});
  const RunId merge = engine.world().board.find(*parse_uuid(id))->merge_run_id;
  take(CancelRun{merge, "not now"});
  EXPECT_EQ(next_of(retry(merge)), "signalbox card unblock " + id);
  EXPECT_EQ(next_of(retry(second)), "signalbox card unblock " + id);
  EXPECT_EQ(engine.world().runs.size(), 0U);
}

// The card continues by itself when the limit ends; if another had its slot, there would be one
// agent too many. That other card would run into the same limit, too.
TEST_F(RpcBoard, ACardThatWaitsForAUsageLimitKeepsItsPlace) {  // H4
  put("web");
  const std::string first = submit("First");
  const std::string second = submit("Second");
  const RunId run = start_next();
  work("implement", "failed",
       R"(,"error_class":"quota","error_code":"USAGE_LIMIT","error_message":"come back later",)"
       R"("quota_reset_at":"2099-01-01T00:00:00Z")");
  ASSERT_NE(engine.world().find_run(run), nullptr);
  EXPECT_EQ(engine.world().find_run(run)->station().status, StationStatus::waiting);
  EXPECT_EQ(card(first).at("status"), "running");
  EXPECT_EQ(next_to_start(engine.world()), nullptr);
  const auto reason = why(second).at("reasons").at(0);
  EXPECT_EQ(reason.at("reason"), "concurrency");
  EXPECT_EQ(reason.at("holders").at(0).at("card_id"), json::value(first));
  EXPECT_EQ(reason.at("next_commands").at(0), json::value("signalbox run why " + to_string(run)))
      << "which tells of the limit";
}

}  // namespace
}  // namespace signalbox
