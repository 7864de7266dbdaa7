// Projects: which changes of their settings and policies become events.
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

class ProjectTest : public GivenWhenThen {
 protected:
  ProjectTest() {
    put.name = project;
    put.repository = "/repositories/site";
    put.pipeline = PipelineDefinition{"site", {worker_station("a")}, {}};
  }
  PutProject put;
};

TEST_F(ProjectTest, HasABranchAndAPipelineUnlessItIsGivenThem) {
  put.pipeline.reset();
  when(put);
  then({ProjectEvent{ProjectPut{"/repositories/site", "main", "", card_pipeline("")}}});
  put.remote = "origin";
  when(put);
  then({ProjectEvent{ProjectPut{"/repositories/site", "main", "origin", card_pipeline("origin")}}});
}

TEST_F(ProjectTest, ItsPipelineStaysIfItIsToBeKept) {  // O8
  const PipelineDefinition own = *put.pipeline;
  put.keep_pipeline = true;
  when(put);
  then_rejected(ErrorCode::INVALID_PARAMS);
  put.pipeline.reset();
  when(put);
  then_rejected(ErrorCode::PROJECT_NOT_FOUND);
  put.keep_pipeline = false;
  put.pipeline = own;
  when(put);
  put.keep_pipeline = true;
  put.pipeline.reset();
  put.remote = "origin";
  when(put);
  then({ProjectEvent{ProjectPut{"/repositories/site", "main", "origin", own}}});
  when(put);
  then_nothing();
}

TEST_F(ProjectTest, EachOfItsSettingsIsAChange) {
  when(put);
  then_names({"ProjectPut"});
  when(put);
  then_nothing();
  put.base = "main";  // as by default
  when(put);
  then_nothing();
  put.base = "trunk";
  when(put);
  then_names({"ProjectPut"});
  put.repository = "/repositories/other";
  when(put);
  then_names({"ProjectPut"});
  put.remote = "origin";
  when(put);
  then_names({"ProjectPut"});
  put.pipeline->stations.push_back(worker_station("b"));
  when(put);
  then_names({"ProjectPut"});
  EXPECT_EQ(world.projects.size(), 1U);
  EXPECT_EQ(world.find_project(project)->pipeline.stations.size(), 2U);
}

TEST_F(ProjectTest, ItsBaseIsNoFlagOfGit) {
  put.base = "--upload-pack=x";
  when(put);
  then_rejected(ErrorCode::INVALID_PARAMS);
  put.base = "a--b";
  when(put);
  then_names({"ProjectPut"});
}

TEST_F(ProjectTest, OfOneThatIsntThereNothingIsNoted) {
  when(AdoptPolicy{project, digest_of(1), {}});
  then_rejected(ErrorCode::PROJECT_NOT_FOUND);
  when(RefusePolicy{project, digest_of(1), 3, "no number"});
  then_rejected(ErrorCode::PROJECT_NOT_FOUND);
  when(NoteWorktree{project, run, "/w", true, "", ""});
  then_rejected(ErrorCode::PROJECT_NOT_FOUND);
  EXPECT_EQ(rejection->next_commands.back(), "signalbox project put site --repository PATH");
}

TEST_F(ProjectTest, APolicyIsAdoptedOnce) {  // H3
  when(put);
  Policy policy;
  when(AdoptPolicy{project, digest_of(1), policy});
  then({ProjectEvent{PolicyAdopted{digest_of(1), policy}}});
  when(AdoptPolicy{project, digest_of(1), policy});
  then_nothing();
  when(AdoptPolicy{project, digest_of(2), policy});  // another file that says the same
  then_names({"PolicyAdopted"});
  policy.max_attempts = 1;  // the same file, understood otherwise by a later version
  when(AdoptPolicy{project, digest_of(2), policy});
  then_names({"PolicyAdopted"});
  EXPECT_EQ(world.find_project(project)->policy, policy);
}

TEST_F(ProjectTest, ARefusedPolicyLeavesTheOneInForceUntilItIsMended) {  // H3
  when(put);
  Policy policy;
  policy.max_attempts = 1;
  when(AdoptPolicy{project, digest_of(1), policy});
  when(RefusePolicy{project, digest_of(2), 3, "no number"});
  then({ProjectEvent{PolicyRefused{digest_of(2), 3, "no number"}}});
  EXPECT_EQ(world.find_project(project)->policy, policy);
  when(RefusePolicy{project, digest_of(2), 3, "no number"});
  then_nothing();
  when(RefusePolicy{project, digest_of(3), 4, "no number"});
  then_names({"PolicyRefused"});
  when(AdoptPolicy{project, digest_of(1), policy});  // the file is as it was before
  then_names({"PolicyAdopted"});
  EXPECT_TRUE(world.find_project(project)->refused_digest.is_zero());
}

TEST_F(ProjectTest, WhatTheServiceSaysOfItIsCutToFit) {
  when(put);
  const std::string text(limits::reason_bytes_max, 'x');
  when(RefusePolicy{project, digest_of(1), 1, text + "y"});
  then({ProjectEvent{PolicyRefused{digest_of(1), 1, text}}});
  when(NoteWorktree{project, run, "/w", false, "", text + "y"});
  then({ProjectEvent{WorktreeLeft{run, "/w", text}}});

  const std::string whole(limits::reason_bytes_max - 1, 'x');  // and a character of two bytes
  when(RefusePolicy{project, digest_of(2), 1, whole + "\xC3\xA9"});
  then({ProjectEvent{PolicyRefused{digest_of(2), 1, whole}}});
  when(NoteWorktree{project, run, "/w", false, "", whole + "\xC3\xA9"});
  then({ProjectEvent{WorktreeLeft{run, "/w", whole}}});
}

// The project of the cards' fixture, with this base.
PutProject with_base(const World& world, const std::string& base) {
  const Project& project = *world.find_project("site");
  PutProject put;
  put.name = project.name;
  put.repository = project.repository;
  put.base = base;
  put.remote = project.remote;
  put.keep_pipeline = true;
  return put;
}

// A merge takes the base that the project has by then, with all that the former one had.
TEST_F(VerifiedCardTest, IsntMergedIntoAnotherBaseThanItBeganOn) {  // H11
  PutProject put = with_base(world, "release");
  when(put);
  then_rejected(ErrorCode::CARD_BUSY);
  EXPECT_EQ(rejection->next_commands.at(1), "signalbox card block " + to_string(card) +
                                                " --reason 'the project gets another base'");
  when(merge_of(card, run));
  when(put);
  then_rejected(ErrorCode::CARD_BUSY);
  EXPECT_EQ(rejection->next_commands.at(1), "signalbox run cancel " + to_string(run));
  put.base = "main";
  put.repository = "/repositories/moved";  // with the same commits, or the merge finds none
  when(put);
  then_names({"ProjectPut"});
  when(CancelRun{run, "the base changes"});
  put.base = "release";
  when(put);
  then_names({"ProjectPut"});
  when(UnblockCard{card, {}});
  when(start_of(card, uuid_of(10)));
  EXPECT_EQ(world.find_run(uuid_of(10))->base, "release");
}

TEST_F(CardTest, AtWorkKeepsTheBaseOfItsProject) {  // H11
  when(with_base(world, "release"));
  then_names({"ProjectPut"});
  when(start_of(card, run));
  when(with_base(world, "main"));
  then_rejected(ErrorCode::CARD_BUSY);
  EXPECT_EQ(rejection->next_commands.at(1), "signalbox run cancel " + to_string(run));
  PutProject other = with_base(world, "main");
  other.name = "site-main";
  other.keep_pipeline = false;
  when(other);
  then_names({"ProjectPut"});
  fail();
  when(with_base(world, "main"));
  then_names({"ProjectPut"});
}

}  // namespace
}  // namespace signalbox
