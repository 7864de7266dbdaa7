// Admission: which card the limits let start next, and why the others wait.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "domain/admission.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class AdmissionTest : public GivenWhenThen {
 protected:
  void put(const std::string& name, const Policy& policy = {}) {
    project = name;
    ProjectPut event{"/repositories/" + name, "main", "", {"p", {worker_station("implement")}}};
    given({ProjectEvent{event}, ProjectEvent{PolicyAdopted{digest_of(1), policy}}});
  }
  CardId submit(const std::string& to, const std::string& key = "", std::int32_t priority = 0) {
    card = uuid_of(next_++);
    given({CardEvent{CardSubmitted{to, "card", "", key, priority}}});
    return card;
  }
  // Starts the next card and returns its id, or nil if no card may start.
  CardId start() {
    const Card* next = next_to_start(world);
    if (next == nullptr) return {};
    const CardId id = next->id;
    StartCard command{id, run_of_card(*world.find_project(next->project), *next)};
    command.run.run_id = uuid_of(next_++);
    command.run.pipeline_digest = digest_of(5);
    when(command);
    EXPECT_FALSE(rejection.has_value());
    return id;
  }
  [[nodiscard]] CardWait wait_of(const CardId& id) const {
    return why_waiting(world, *world.board.find(id));
  }
  void put_without_file(const std::string& name) {
    project = name;
    ProjectPut event{"/repositories/" + name, "main", "", {"p", {worker_station("implement")}}};
    given({ProjectEvent{event}});
  }
  static Policy policy_of(std::uint32_t all, std::uint32_t per_project) {
    Policy policy;
    policy.max_concurrent_agents = all;
    policy.max_concurrent_agents_per_project = per_project;
    return policy;
  }

 private:
  std::uint8_t next_ = 1;
};

TEST_F(AdmissionTest, TwoOverAllAndOneAProject) {  // H4
  put("a");
  put("b");
  put("c");
  const CardId a1 = submit("a");
  const CardId a2 = submit("a");
  const CardId b1 = submit("b");
  const CardId c1 = submit("c");
  EXPECT_EQ(start(), a1);
  EXPECT_EQ(start(), b1);
  EXPECT_EQ(start(), CardId{});
  EXPECT_EQ(wait_of(a2), (CardWait{CardWaitReason::concurrency, "project", 1, {a1}}));
  EXPECT_EQ(wait_of(c1), (CardWait{CardWaitReason::concurrency, "all", 2, {a1, b1}}));
}

TEST_F(AdmissionTest, ThePolicyOfAProjectSaysWhatItMayHave) {  // H3, H4
  put("a", policy_of(3, 2));
  put("b");
  const CardId a1 = submit("a");
  const CardId a2 = submit("a");
  const CardId a3 = submit("a");
  submit("b");
  EXPECT_EQ(start(), a1);
  EXPECT_EQ(start(), a2);
  EXPECT_EQ(start(), CardId{}) << "b allows two in all";
  EXPECT_EQ(wait_of(a3).scope, "project");
}

TEST_F(AdmissionTest, OneOfAKeyAtATime) {
  put("a", policy_of(9, 9));
  put("b", policy_of(9, 9));
  const CardId a1 = submit("a", "database");
  const CardId a2 = submit("a", "database");
  const CardId b1 = submit("b", "database");
  const CardId a3 = submit("a");
  EXPECT_EQ(start(), a1);
  EXPECT_EQ(start(), a3) << "what waits for a key doesn't hold up others";
  EXPECT_EQ(start(), CardId{});
  EXPECT_EQ(wait_of(a2), (CardWait{CardWaitReason::concurrency, "key", 1, {a1}}));
  EXPECT_EQ(wait_of(b1), (CardWait{CardWaitReason::concurrency, "key", 1, {a1}}));
}

TEST_F(AdmissionTest, ByPriorityThenByAge) {
  put("a", policy_of(9, 9));
  put("b", policy_of(9, 9));
  const CardId old = submit("a");
  const CardId urgent = submit("b", "", 5);
  const CardId later = submit("b");
  const CardId idle = submit("a", "", -1);
  EXPECT_EQ(wait_of(later), (CardWait{CardWaitReason::order, "", 0, {urgent}}));
  EXPECT_EQ(start(), urgent);
  EXPECT_EQ(start(), old);
  EXPECT_EQ(start(), later);
  EXPECT_EQ(wait_of(idle), CardWait{});
  EXPECT_EQ(start(), idle);
}

TEST_F(AdmissionTest, NothingWhereThePolicyDoesntProcessTheBacklog) {  // H3
  Policy policy;
  policy.process_backlog = false;
  put("a", policy);
  const CardId waits = submit("a");
  EXPECT_EQ(start(), CardId{});
  EXPECT_EQ(wait_of(waits).reason, CardWaitReason::policy);
}

TEST_F(AdmissionTest, NothingWhereThePolicyWasNeverUnderstood) {  // A8
  project = "a";
  ProjectPut event{"/repositories/a", "main", "", {"p", {worker_station("implement")}}};
  given({ProjectEvent{event}, ProjectEvent{PolicyRefused{digest_of(1), 3, "no such key"}}});
  const CardId waits = submit("a");
  EXPECT_EQ(start(), CardId{});
  EXPECT_EQ(wait_of(waits).reason, CardWaitReason::policy);
  EXPECT_EQ(policy_hold(*world.find_project("a")), PolicyHold::never_understood);
  when(AdoptPolicy{"a", digest_of(2), {}});
  EXPECT_EQ(start(), waits);
  when(RefusePolicy{"a", digest_of(3), 3, "no such key"});
  EXPECT_EQ(policy_hold(*world.find_project("a")), PolicyHold::none) << "the one before counts";
}

TEST_F(AdmissionTest, NothingOnceAPolicyThatWasNeverUnderstoodIsGone) {  // A8
  put_without_file("a");
  const auto hold = [this] { return policy_hold(*world.find_project("a")); };
  EXPECT_EQ(hold(), PolicyHold::none);
  const CardId waits = submit("a");
  when(RefusePolicy{"a", digest_of(1), 3, "no such key"});
  EXPECT_EQ(hold(), PolicyHold::never_understood);
  when(RefusePolicy{"a", digest_of(2), 0, "it can't be read"});
  EXPECT_EQ(hold(), PolicyHold::never_understood);
  when(AdoptPolicy{"a", {}, {}});
  then({ProjectEvent{PolicyAdopted{{}, policy_without_file({})}}});
  EXPECT_EQ(hold(), PolicyHold::gone);
  EXPECT_EQ(start(), CardId{});
  when(AdoptPolicy{"a", digest_of(3), {}});
  EXPECT_EQ(start(), waits);
}

// Whether there is a file wasn't seen, so it wasn't there before either.
TEST_F(AdmissionTest, ThePolicyOfAProjectWithoutAFileSurvivesAFailedRead) {  // A8
  put_without_file("a");
  const CardId waits = submit("a");
  when(RefusePolicy{"a", digest_of(1), 0, "it didn't answer"});
  EXPECT_EQ(policy_hold(*world.find_project("a")), PolicyHold::unreadable);
  EXPECT_EQ(start(), CardId{});
  when(AdoptPolicy{"a", {}, {}});
  then({ProjectEvent{PolicyAdopted{{}, {}}}});
  EXPECT_EQ(policy_hold(*world.find_project("a")), PolicyHold::none);
  EXPECT_EQ(start(), waits);
}

// Versions that knew no hold adopted the defaults then.
TEST_F(AdmissionTest, NothingWhereTheLogAdoptedTheDefaultsForAPolicyThatWasGone) {  // A8
  put_without_file("a");
  given({ProjectEvent{PolicyAdopted{digest_of(1), {}}}, ProjectEvent{PolicyAdopted{{}, {}}}});
  const CardId waits = submit("a");
  EXPECT_EQ(policy_hold(*world.find_project("a")), PolicyHold::gone);
  EXPECT_EQ(start(), CardId{});
  when(AdoptPolicy{"a", digest_of(2), {}});
  EXPECT_EQ(start(), waits);
}

TEST_F(AdmissionTest, NothingOnceThePolicyIsGone) {  // A8
  put("a", policy_of(3, 2));
  const CardId waits = submit("a");
  when(AdoptPolicy{"a", {}, {}});
  Policy held = policy_of(3, 2);
  held.process_backlog = held.retry_blocked = held.merge_verified = false;
  then({ProjectEvent{PolicyAdopted{{}, held}}});
  EXPECT_EQ(policy_hold(*world.find_project("a")), PolicyHold::gone);
  EXPECT_EQ(start(), CardId{});
  EXPECT_EQ(wait_of(waits).reason, CardWaitReason::policy);
  when(AdoptPolicy{"a", {}, {}});
  then_nothing();
  when(RefusePolicy{"a", digest_of(4), 0, "it can't be read"});
  when(AdoptPolicy{"a", {}, {}});
  then({ProjectEvent{PolicyAdopted{{}, held}}});
  EXPECT_EQ(start(), CardId{}) << "an error in between doesn't make it the default";
  when(AdoptPolicy{"a", digest_of(5), {}});
  EXPECT_EQ(start(), waits) << "an empty file means the defaults";
}

TEST_F(AdmissionTest, TheDefaultsWhereThereNeverWasAPolicy) {  // A8
  project = "a";
  ProjectPut event{"/repositories/a", "main", "", {"p", {worker_station("implement")}}};
  given({ProjectEvent{event}});
  when(AdoptPolicy{"a", {}, {}});
  then_nothing();
  const CardId first = submit("a");
  EXPECT_EQ(start(), first);
}

// The search over the board's indexes finds the same card as a scan of all cards.
RC_GTEST_PROP(AdmissionProperty, TheIndexFindsTheSameAsALookAtAll, ()) {
  World world;
  const std::vector<std::string> names = {"a", "b", "c"};
  Position position = 0;
  for (const std::string& name : names) {
    Project& project = world.projects[name];
    project.name = name;
    project.policy.max_concurrent_agents = *rc::gen::inRange<std::uint32_t>(1, 6);
    project.policy.max_concurrent_agents_per_project = *rc::gen::inRange<std::uint32_t>(1, 4);
    project.policy.process_backlog = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
  }
  const std::size_t count = *rc::gen::inRange<std::size_t>(0, 30);
  std::set<CardId> left_out;
  for (std::size_t number = 1; number <= count; ++number) {
    Card card;
    card.id = uuid_of(static_cast<std::uint8_t>(number));
    card.project = *rc::gen::elementOf(names);
    card.key = *rc::gen::element<std::string>("", "", "k", "l");
    card.priority = *rc::gen::inRange(-1, 2);
    card.submitted_at = ++position;
    card.status = *rc::gen::weightedElement<CardStatus>(
        {{6, CardStatus::backlog}, {1, CardStatus::running}, {1, CardStatus::verifying}});
    if (*rc::gen::weightedElement<bool>({{3, false}, {1, true}})) left_out.insert(card.id);
    world.board.insert(std::move(card));
  }
  const Card* best = nullptr;
  for (const auto& [id, card] : world.board.cards()) {
    if (card->status != CardStatus::backlog || left_out.contains(id)) continue;
    const CardWait wait = why_waiting(world, *card);
    if (wait.reason != CardWaitReason::none && wait.reason != CardWaitReason::order) continue;
    const auto order = [](const Card& each) {
      return CardOrder{each.priority, each.submitted_at, each.id};
    };
    if (best == nullptr || order(*card) < order(*best)) best = card.get();
  }
  RC_ASSERT(next_to_start(world, left_out) == best);
}

}  // namespace
}  // namespace signalbox
