// Artifacts of runners over the protocol: uploads, bundles, and the word that names them.
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "domain/feature_level.h"
#include "domain/limits.h"
#include "server/limits.h"
#include "server/platform/artifact_store.h"
#include "server/platform/attempt_bundle.h"
#include "server/rpc/upload_budget.h"
#include "store/base64.h"
#include "store/sha256.h"
#include "tests/server/rpc_runner_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcResults : public RpcRunners {
 protected:
  // Returns the code with which the result is refused, or "".
  std::string finished() {
    return refusal("runner.finish", as_runner({{"job_id", job_}, {"result", to_json(result_)}}));
  }
  // Ends the attempt of the job, as after another result.
  void end_attempt(const std::string& job_id) {
    CompleteStation end;
    end.run_id = *parse_uuid(parse_job_id(job_id)->run_id);
    end.station = "go";
    end.token = engine.world().find_run(end.run_id)->attempt->token;
    end.from_executor = true;
    take(end);
  }
  // Names a bundle of what is named, of which the member `lie` has another content.
  std::string add_bundle(const std::vector<std::string>& contents, std::size_t lie = 99) {
    std::size_t member = 0;
    const std::string content = make_bundle(named_, [&](const Artifact&) -> Stored<std::string> {
                                  const std::string& own = contents.at(member);
                                  return member++ == lie ? std::string(own.size(), '?') : own;
                                }).value();
    named_.push_back({bundle_name, bundle_media_type, content.size(), sha256(content)});
    return content;
  }

  std::string job_ = wanted_job();
  JobResult result_;
  std::vector<Artifact>& named_ = result_.result.artifacts;
};

TEST_F(RpcResults, AreTakenOnlyAfterTheirArtifacts) {  // N4
  named_.push_back({"out.txt", "text/plain", 2, sha256("hi")});
  EXPECT_EQ(finished(), "ARTIFACT_NOT_FOUND") << "the runner uploads it, and repeats the call";
  ASSERT_TRUE(artifacts.put("out.txt", "text/plain", "hi"));
  named_.front().bytes = 3;
  EXPECT_EQ(finished(), "ARTIFACT_NOT_FOUND") << "it isn't of that size";
  named_.front().bytes = 2;
  EXPECT_EQ(finished(), "");
  result_.result.summary = std::string(limits::summary_bytes_max + 1, 'a');
  EXPECT_EQ(finished(), "LIMIT_EXCEEDED");
}

// A key that was stolen keeps nobody's content, and no disk busy.
TEST_F(RpcResults, ThatNobodyWantsMakeNoWork) {  // N4, P11
  const Digest digest = artifacts.put("out.txt", "text/plain", "hi")->sha256;
  const auto path = artifacts.path_of(digest);
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(48);
  std::filesystem::last_write_time(path, old);
  const auto stored = std::filesystem::last_write_time(path);
  named_.push_back({"out.txt", "text/plain", 2, digest});
  named_.push_back({"none.txt", "text/plain", 9, sha256("not there")});
  const std::string wanted = std::exchange(job_, "never");
  const json::object answer =
      call("runner.finish", as_runner({{"job_id", job_}, {"result", to_json(result_)}}));
  EXPECT_EQ(answer.at("taken"), json::value(false));
  EXPECT_EQ(std::filesystem::last_write_time(path), stored);
  job_ = wanted;
  named_.pop_back();
  EXPECT_EQ(finished(), "");
  EXPECT_GT(std::filesystem::last_write_time(path), stored);
}

// What a bundle is said to have is taken only if the bundle is there, and is as long as that.
TEST_F(RpcResults, NameTheMembersOfABundleThatWasUploaded) {  // N4, P11
  named_.push_back({"a", "text/plain", 2, sha256("hi")});
  named_.push_back({"b", "text/plain", 1, sha256("b")});
  const std::string content = add_bundle({"hi", "b"});
  EXPECT_EQ(finished(), "ARTIFACT_NOT_FOUND") << "it isn't there";
  ASSERT_TRUE(artifacts.put(bundle_name, bundle_media_type, content));
  EXPECT_EQ(finished(), "");
  named_.front().bytes = 700;
  EXPECT_EQ(finished(), "ARTIFACT_NOT_FOUND") << "its members would make a longer one";
  named_.front().bytes = 2;
  named_.push_back({"c", "text/plain", 1, sha256("c")});
  EXPECT_EQ(finished(), "ARTIFACT_NOT_FOUND") << "it is named behind the bundle, and isn't there";
  named_.pop_back();
  named_.push_back(named_.back());
  EXPECT_EQ(finished(), "INVALID_PARAMS") << "a second bundle";
  named_.pop_back();
  named_.insert(named_.begin(), limits::artifacts_max - 2, named_.front());
  EXPECT_EQ(finished(), "") << "the bundle doesn't count";
  named_.insert(named_.begin(), named_.front());
  EXPECT_EQ(finished(), "LIMIT_EXCEEDED");
}

TEST_F(RpcResults, WhoseBundleHasSomethingElseAreRefused) {  // N4, P11
  named_.push_back({"a", "text/plain", 2, sha256("hi")});
  named_.push_back({"b", "text/plain", 1, sha256("b")});
  ASSERT_TRUE(artifacts.put(bundle_name, bundle_media_type, add_bundle({"hi", "b"}, 1)));
  EXPECT_EQ(finished(), "INVALID_PARAMS");
}

// All servers of a cell have to find what a bundle has.
TEST_F(RpcRunners, MakeBundlesFromTheFeatureLevelOn) {  // N4
  const auto wants = [this] { return call("runner.exchange", report()).at("wants_bundles"); };
  EXPECT_EQ(wants(), json::value(false)) << "the service has a directory";
  runner_queue.want_bundles();
  EXPECT_EQ(wants(), json::value(true));
  engine.set_feature_level(feature_level_of_bundles - 1);
  EXPECT_EQ(wants(), json::value(false));
  engine.set_feature_level(feature_level_of_bundles);
  EXPECT_EQ(wants(), json::value(true));
}

// The service would look for the contents of others in it.
TEST_F(RpcResults, OfWorkersBringNoBundles) {  // N4, P11
  const std::string run_id =
      start_run(R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go"}]}})");
  const json::object artifact{
      {"name", "a.tar"}, {"media_type", bundle_media_type}, {"content", "x"}};
  const json::object answer = answer_to("station.complete", {{"run_id", run_id},
                                                             {"station", "go"},
                                                             {"token", 1},
                                                             {"outcome", "succeeded"},
                                                             {"artifacts", json::array{artifact}}});
  EXPECT_EQ(code_of(answer), "INVALID_PARAMS");
  EXPECT_NE(json::serialize(answer).find("reserved"), std::string::npos);
}

// A key that was stolen fills no store.
TEST_F(RpcResults, MayNotLeaveContentWithoutEnd) {  // N4, P11
  const auto asked = [this](int content, std::int64_t bytes) {
    return refusal("runner.upload", as_runner({{"sha256", to_hex(sha256(std::to_string(content)))},
                                               {"bytes", bytes},
                                               {"offset", 0},
                                               {"content", ""},
                                               {"wants_url", true}}));
  };
  const auto order = [this](const std::string& id) {
    Job job;
    job.id = id;
    job.machine = runner;
    runners.order(job, "secret");
  };
  order(job_);
  const auto largest = static_cast<std::int64_t>(limits::artifact_bytes_max);
  const auto fitting = static_cast<int>(runner_upload_bytes_max / limits::artifact_bytes_max);
  for (int content = 0; content < fitting; ++content) {
    EXPECT_EQ(asked(content, 1), "");
    EXPECT_EQ(asked(content, largest), "") << "what it is, not what it was said to be, counts";
  }
  EXPECT_EQ(asked(0, largest), "") << "it was counted";
  EXPECT_EQ(asked(fitting, 1), "LIMIT_EXCEEDED");
  order(wanted_job());
  EXPECT_EQ(asked(fitting, 1), "") << "it has another job";
  // What a result names is no longer counted.
  ASSERT_TRUE(artifacts.put("0", "text/plain", "0"));
  named_.push_back({"0", "text/plain", 1, sha256("0")});
  const auto left = static_cast<int>((runner_upload_bytes_max - runner_upload_bytes_min) /
                                     limits::artifact_bytes_max);
  for (int content = 0; content < left; ++content) {
    EXPECT_EQ(asked(100 + content, largest), "");
  }
  EXPECT_EQ(asked(200, largest), "LIMIT_EXCEEDED");
  EXPECT_EQ(finished(), "");
  EXPECT_EQ(asked(200, largest), "");
  EXPECT_EQ(asked(201, largest), "LIMIT_EXCEEDED");
  clock.advance_ms(unnamed_artifact_ms_min + 1);
  EXPECT_EQ(asked(201, largest), "") << "the others may have been removed";
}

// Such as what a result named that was refused: the next job has its room again.
TEST_F(RpcResults, UploadsOfAJobThatIsOverCountNoLonger) {  // N4, P11
  const auto asked = [this](const std::string& job_id, int content) {
    return refusal("runner.upload", as_runner({{"sha256", to_hex(sha256(std::to_string(content)))},
                                               {"bytes", limits::artifact_bytes_max},
                                               {"offset", 0},
                                               {"content", ""},
                                               {"wants_url", true},
                                               {"job_id", job_id}}));
  };
  const auto report_job = [this](const std::string& id) {
    json::object job{{"job_id", id}, {"external_ref", ""}, {"finished", false}, {"ending", false}};
    EXPECT_EQ(refusal("runner.exchange", report({{"jobs", json::array{std::move(job)}}})), "");
  };
  report_job(job_);
  const auto fitting = static_cast<int>(runner_upload_bytes_max / limits::artifact_bytes_max);
  for (int content = 0; content < fitting; ++content) EXPECT_EQ(asked(job_, content), "");
  EXPECT_EQ(asked(job_, fitting), "LIMIT_EXCEEDED");
  const std::string other = wanted_job();
  Job ordered;
  ordered.id = other;
  ordered.machine = runner;
  runners.order(ordered, "secret");
  EXPECT_EQ(asked(job_, fitting), "LIMIT_EXCEEDED") << "that room is the other job's";
  EXPECT_EQ(asked(other, fitting), "");
  result_.result.summary = std::string(limits::summary_bytes_max + 1, 'a');
  EXPECT_EQ(finished(), "LIMIT_EXCEEDED");
  end_attempt(job_);
  EXPECT_EQ(asked(job_, 0), "FORBIDDEN");
  report_job(other);
  for (int content = 1; content < fitting; ++content) {
    EXPECT_EQ(asked(other, fitting + content), "") << content;
  }
  EXPECT_EQ(asked(other, 2 * fitting), "LIMIT_EXCEEDED");
}

TEST_F(RpcRunners, UploadThroughAServiceThatHasNoStoreToGiveAUrlOf) {  // N4
  Job job;
  job.id = "x";
  job.machine = runner;
  runners.order(job, "secret");
  const auto uploaded = [this](const std::string& content) {
    return call("runner.upload", as_runner({{"sha256", to_hex(sha256("hi"))},
                                            {"bytes", 2},
                                            {"offset", 0},
                                            {"content", to_base64(content)},
                                            {"wants_url", true}}));
  };
  const json::object asked = uploaded("");
  EXPECT_EQ(asked.at("complete"), json::value(false));
  EXPECT_FALSE(asked.contains("direct"));
  EXPECT_EQ(uploaded("hi").at("complete"), json::value(true));
  EXPECT_EQ(uploaded("").at("complete"), json::value(true)) << "it is stored";
}

TEST_F(RpcRunners, UploadPiecesOfBoundedSize) {  // N4
  Job job;
  job.id = "x";
  job.machine = runner;
  const json::object nothing{
      {"sha256", std::string(64, '0')}, {"bytes", 0}, {"offset", 0}, {"content", ""}};
  EXPECT_EQ(refusal("runner.upload", as_runner(nothing)), "FORBIDDEN") << "it has no job";
  runners.order(job, "secret");
  const auto refused = [this](std::size_t bytes, std::int64_t offset, const std::string& content) {
    return refusal("runner.upload", as_runner({{"sha256", std::string(64, '0')},
                                               {"bytes", bytes},
                                               {"offset", offset},
                                               {"content", to_base64(content)}}));
  };
  EXPECT_EQ(refused(limits::artifact_bytes_max + 1, 0, ""), "INVALID_PARAMS");
  EXPECT_EQ(refused(10, 11, ""), "INVALID_PARAMS");
  EXPECT_EQ(refused(1, 0, "ab"), "INVALID_PARAMS");
  const std::string piece(limits::upload_piece_bytes_max + 1, 'a');
  EXPECT_EQ(refused(limits::artifact_bytes_max, 0, piece), "INVALID_PARAMS");
  EXPECT_EQ(
      refusal("runner.upload",
              as_runner({{"sha256", "zz"}, {"bytes", 1}, {"offset", 0}, {"content", "YQ=="}})),
      "INVALID_PARAMS");
}

}  // namespace
}  // namespace signalbox
