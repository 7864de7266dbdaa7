// Artifacts of runners over the protocol: uploads, bundles, and the word that names them.
#include <string>

#include "domain/limits.h"
#include "server/limits.h"
#include "server/platform/attempt_bundle.h"
#include "store/base64.h"
#include "store/sha256.h"
#include "tests/server/rpc_runner_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST_F(RpcRunners, TellAResultOnlyAfterItsArtifacts) {  // N4
  JobResult result;
  result.result.artifacts.push_back({"out.txt", "text/plain", 2, sha256("hi")});
  EXPECT_NE(refusal("runner.finish", as_runner({{"job_id", "x"}, {"result", to_json(result)}})),
            "");
  const auto finished = [&] {
    return refusal("runner.finish", as_runner({{"job_id", "x"}, {"result", to_json(result)}}));
  };
  ASSERT_TRUE(artifacts.put("out.txt", "text/plain", "hi"));
  result.result.artifacts.front().bytes = 3;
  EXPECT_EQ(finished(), "INVALID_PARAMS") << "it isn't of that size";
  result.result.artifacts.front().bytes = 2;
  EXPECT_EQ(finished(), "");
  JobResult long_one;
  long_one.result.summary = std::string(limits::summary_bytes_max + 1, 'a');
  EXPECT_EQ(refusal("runner.finish", as_runner({{"job_id", "x"}, {"result", to_json(long_one)}})),
            "LIMIT_EXCEEDED");
}

// What a bundle is said to have is taken only if the bundle is there, and is as long as that.
TEST_F(RpcRunners, NameTheMembersOfABundleThatWasUploaded) {  // N4, P11
  JobResult result;
  auto& named = result.result.artifacts;
  named.push_back({"a", "text/plain", 2, sha256("hi")});
  named.push_back({"b", "text/plain", 1, sha256("b")});
  const std::string content = make_bundle(named, [](const Artifact& each) -> Stored<std::string> {
                                return std::string(each.bytes == 2 ? "hi" : "b");
                              }).value();
  named.push_back({bundle_name, bundle_media_type, content.size(), sha256(content)});
  const auto finished = [&] {
    return refusal("runner.finish", as_runner({{"job_id", "x"}, {"result", to_json(result)}}));
  };
  EXPECT_EQ(finished(), "INVALID_PARAMS") << "it isn't there";
  ASSERT_TRUE(artifacts.put(bundle_name, bundle_media_type, content));
  EXPECT_EQ(finished(), "");
  named.front().bytes = 700;
  EXPECT_EQ(finished(), "INVALID_PARAMS") << "its members would make a longer one";
  named.front().bytes = 2;
  named.push_back({"c", "text/plain", 1, sha256("c")});
  EXPECT_EQ(finished(), "INVALID_PARAMS") << "it is named behind the bundle, and isn't there";
  named.pop_back();
  named.insert(named.begin(), limits::stored_artifacts_max - named.size() + 1, named.front());
  EXPECT_EQ(finished(), "LIMIT_EXCEEDED");
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
