// The bundle of an attempt: what other tools read of it, where members are found, and what becomes
// of bundles and names that lie.
#include "server/platform/attempt_bundle.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "domain/limits.h"
#include "store/sha256.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

class AttemptBundleTest : public ::testing::Test {
 protected:
  // Returns an artifact whose content make() finds.
  Artifact left(const std::string& name, const std::string& content) {
    const Digest digest = sha256(content);
    contents_[digest] = content;
    return {name, std::string("text/plain"), content.size(), digest};
  }
  std::string make(const std::vector<Artifact>& members) const {
    return make_bundle(members,
                       [this](const Artifact& member) -> Stored<std::string> {
                         return contents_.at(member.sha256);
                       })
        .value();
  }
  static Artifact bundle_of(const std::string& content) {
    return {std::string(bundle_name), std::string(bundle_media_type), content.size(),
            sha256(content)};
  }
  // Stores the bundle of the members and returns the artifacts that the event names.
  std::vector<Artifact> bundled(std::vector<Artifact> members) {
    const std::string content = make(members);
    EXPECT_EQ(bundle_bytes(members), content.size());
    EXPECT_TRUE(store_.put(bundle_name, bundle_media_type, content));
    members.push_back(bundle_of(content));
    return members;
  }

  std::map<Digest, std::string> contents_;
  TemporaryDirectory directory_;
  DirectoryArtifacts store_{directory_.path() / "artifacts"};
};

TEST_F(AttemptBundleTest, EachMemberIsReadWhereItsNamesSayItIs) {  // N4
  const std::vector<Artifact> members{
      left("empty", ""), left("hello", "hello\n"), left("block", std::string(512, 'x')),
      left("hello again", "hello\n"), left("large", std::string(70'001, 'y'))};
  const std::vector<Artifact> artifacts = bundled(members);
  for (const Artifact& artifact : members) {
    const ArtifactPlace place = place_of(artifacts, artifact);
    ASSERT_TRUE(place.part) << artifact.name;
    EXPECT_EQ(store_.get_at(place).value(), contents_.at(artifact.sha256)) << artifact.name;
    EXPECT_TRUE(store_.has_at(place).value());
    EXPECT_EQ(store_.location_at(place), store_.location_of(artifacts.back().sha256));
    const auto opened = store_.open_at(place);
    ASSERT_TRUE(opened) << opened.error().message;
    boost::json::object shown{{"sha256", to_hex(artifact.sha256)}, {"bytes", artifact.bytes}};
    add_place(place, shown);
    EXPECT_EQ(store_.get_at(place_of_json(shown)).value(), contents_.at(artifact.sha256));
  }
  EXPECT_EQ(place_of(artifacts, artifacts[1]).part->offset,
            place_of(artifacts, artifacts[3]).part->offset);
  EXPECT_FALSE(place_of(artifacts, artifacts.back()).part) << "the bundle is a blob";
  EXPECT_FALSE(place_of(artifacts, left("another", "other\n")).part);
}

TEST_F(AttemptBundleTest, IsATarThatOtherToolsRead) {  // N4
  const std::vector<Artifact> members{left("empty", ""), left("hello", "hello\n"),
                                      left("large", std::string(70'001, 'y'))};
  const auto path = directory_.path() / "attempt.tar";
  write_text(path, make(members));
  const auto to = directory_.path() / "unpacked";
  std::filesystem::create_directory(to);
  ASSERT_EQ(std::system(("tar -xf " + path.string() + " -C " + to.string()).c_str()), 0);
  for (const Artifact& member : members) {
    EXPECT_EQ(content_of(to / "sha256" / to_hex(member.sha256)), contents_.at(member.sha256));
  }
  EXPECT_EQ(make(members), make(members)) << "an upload that is repeated finds it";
}

TEST_F(AttemptBundleTest, WhatIsNamedBehindItIsABlobOfItsOwn) {  // N4
  std::vector<Artifact> artifacts = bundled({left("a", "aa\n"), left("b", "bb\n")});
  artifacts.push_back(left("c", "cc\n"));
  EXPECT_FALSE(place_of(artifacts, artifacts.back()).part);
  EXPECT_TRUE(place_of(artifacts, artifacts.front()).part);
}

TEST_F(AttemptBundleTest, OneOfAnotherSizeThanItsMembersMakeIsNone) {  // N4, P11
  const std::vector<Artifact> members{left("a", "aa\n"), left("b", "bb\n")};
  const std::vector<Artifact> honest = bundled(members);
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, honest.back().bytes - 1, honest.back().bytes + 512,
        std::numeric_limits<std::uint64_t>::max()}) {
    std::vector<Artifact> artifacts = honest;
    artifacts.back().bytes = bytes;
    EXPECT_FALSE(place_of(artifacts, artifacts.front()).part) << bytes;
  }
  for (const std::uint64_t bytes : {std::uint64_t{2000}, limits::artifact_bytes_max + 1,
                                    std::numeric_limits<std::uint64_t>::max()}) {
    std::vector<Artifact> artifacts = honest;
    artifacts.front().bytes = bytes;
    EXPECT_FALSE(place_of(artifacts, artifacts[0]).part) << bytes;
    EXPECT_FALSE(place_of(artifacts, artifacts[1]).part) << bytes;
  }
  EXPECT_FALSE(bundle_bytes(std::vector<Artifact>{
      {std::string("a"), std::string(), std::numeric_limits<std::uint64_t>::max(), Digest{}}}));
}

TEST_F(AttemptBundleTest, AnotherContentThanItsNamesSayIsNotServed) {  // N4, P11
  std::vector<Artifact> artifacts = bundled({left("a", "aa\n"), left("b", "bb\n")});
  artifacts.front().sha256 = sha256("AA\n");
  const ArtifactPlace lie = place_of(artifacts, artifacts.front());
  ASSERT_TRUE(lie.part);
  const auto refused = store_.get_at(lie);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(store_.open_at(lie).error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(store_.get_at(place_of(artifacts, artifacts[1])).value(), "bb\n");
  // What somebody else has stored under the digest is what it is.
  ASSERT_TRUE(store_.put("n", "text/plain", "AA\n"));
  EXPECT_EQ(store_.get_at(lie).value(), "AA\n");
  EXPECT_EQ(store_.open_at(lie).value().begins, 0U) << "it is the blob of its own";
}

TEST_F(AttemptBundleTest, OneThatIsGoneIsNotFound) {  // N4, A15
  const std::vector<Artifact> artifacts = bundled({left("a", "aa\n"), left("b", "bb\n")});
  std::filesystem::remove(store_.path_of(artifacts.back().sha256));
  const ArtifactPlace place = place_of(artifacts, artifacts.front());
  EXPECT_EQ(store_.get_at(place).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(store_.open_at(place).error().kind, StoreError::Kind::not_found);
  EXPECT_FALSE(store_.has_at(place).value());
}

}  // namespace
}  // namespace signalbox
