// Projects: which changes of their settings and policies become events.
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "tests/domain/given_when_then.h"

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

}  // namespace
}  // namespace signalbox
