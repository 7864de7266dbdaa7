// The repository that a run names: what isn't there is refused before the run is recorded.
#include <filesystem>

#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_runner_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcStartedRepository : public RpcRunners {
 protected:
  json::object start_in(const std::string& repository, const json::object& station,
                        const json::object& more = {}) {
    json::object params{{"goal", "g"},
                        {"repository", repository},
                        {"pipeline", {{"name", "p"}, {"station", json::array{station}}}}};
    for (const auto& each : more) params[each.key()] = each.value();
    return answer_to("run.start", params);
  }
  const json::object intake{{"name", "intake"}, {"executor", "builtin"}};
};

TEST_F(RpcStartedRepository, ThatIsMissingIsRefusedAtOnce) {  // S3 P7
  const Position before = engine.world().position;
  const json::object refused = start_in("/missing/path", intake);
  EXPECT_EQ(code_of(refused), "INVALID_PARAMS") << json::serialize(refused);
  const json::object error = refused.at("error").as_object();
  EXPECT_EQ(error.at("data").at("details").at("field"), "repository");
  EXPECT_NE(error.at("message").as_string().find("there is no directory /missing/path"),
            std::string::npos);
  EXPECT_EQ(engine.world().position, before) << "nothing is recorded";
  EXPECT_EQ(code_of(start_in("/dev/null", intake)), "INVALID_PARAMS") << "it is no directory";
}

TEST_F(RpcStartedRepository, ThatIsNoRepositorysRootIsRefusedAtOnce) {  // S3 P7
  TemporaryDirectory directory;
  const std::string plain = (directory.path() / "plain").string();
  const std::string below = plain + "/below";
  std::filesystem::create_directories(below);
  const Position before = engine.world().position;
  const json::object refused = start_in(plain, intake);
  ASSERT_EQ(code_of(refused), "INVALID_PARAMS") << json::serialize(refused);
  EXPECT_TRUE(refused.at("error").at("message").as_string().starts_with(
      plain + " isn't the root of a git repository"));
  EXPECT_EQ(refused.at("error").at("data").at("next_commands").at(0).as_string(),
            "git -C " + plain + " init");
  EXPECT_EQ(engine.world().position, before) << "nothing is recorded";
  const json::object own{{"name", "go"}, {"executor", "process"}, {"command", json::array{"true"}}};
  EXPECT_EQ(code_of(start_in(plain, own)), "") << "without an intake a directory will do";

  std::filesystem::create_directory(plain + "/.git");
  const json::object inside = start_in(below, intake);
  ASSERT_EQ(code_of(inside), "INVALID_PARAMS") << json::serialize(inside);
  EXPECT_EQ(inside.at("error").at("data").at("details").at("root").as_string(),
            std::filesystem::canonical(plain).string());
  EXPECT_EQ(code_of(start_in(plain, intake)), "") << "what is in it, intake finds out";
  const std::string bare = (directory.path() / "bare").string();
  for (const char* each : {"objects", "refs", "HEAD"}) {
    EXPECT_EQ(code_of(start_in(bare, intake)), "INVALID_PARAMS");
    std::filesystem::create_directories(bare + "/" + each);
  }
  EXPECT_EQ(code_of(start_in(bare, intake)), "");
}

TEST_F(RpcStartedRepository, OfARunThatTheServiceDoesNotExecuteIsNotLookedFor) {  // N3
  EXPECT_EQ(code_of(start_in("/missing/path", {{"name", "go"}})), "") << "of a worker";
  EXPECT_EQ(
      code_of(answer_to(
          "run.start",
          {{"goal", "g"},
           {"repository", "/missing/path"},
           {"pipeline",
            {{"name", "p"}, {"runs_on", json::array{"gpu"}}, {"station", json::array{intake}}}}})),
      "");
  call("runner.exchange", report({{"repositories", json::array{"/offered/path"}}}));
  EXPECT_EQ(code_of(start_in("/offered/path", intake)), "") << "a runner has it";
}

TEST_F(RpcStartedRepository, ThatIsGoneSinceRepeatsTheFirstAnswer) {  // S2
  TemporaryDirectory directory;
  const std::string repository = (directory.path() / "repository").string();
  std::filesystem::create_directories(repository + "/.git");
  const json::object keyed{{"idempotency_key", "once"}};
  const json::object first = start_in(repository, intake, keyed);
  ASSERT_EQ(code_of(first), "") << json::serialize(first);
  std::filesystem::remove_all(repository);
  const json::object again = start_in(repository, intake, keyed);
  ASSERT_EQ(code_of(again), "") << json::serialize(again);
  EXPECT_EQ(again.at("result").at("run_id"), first.at("result").at("run_id"));
  EXPECT_EQ(code_of(start_in(repository, intake)), "INVALID_PARAMS");
}

}  // namespace
}  // namespace signalbox
