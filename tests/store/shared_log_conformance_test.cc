// The conformance suite of SharedLog, and the functions beside it.
#include <future>
#include <vector>

#include "tests/eventually.h"
#include "tests/store/shared_log_under_test.h"

namespace signalbox::test {
namespace {

using Status = SharedAppend::Status;

INSTANTIATE_TEST_SUITE_P(Postgres, SharedLogConformance, testing::Values(postgres_kind()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });
INSTANTIATE_TEST_SUITE_P(Memory, SharedLogConformance, testing::Values(memory_kind()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(SharedLogConformance, HasNothingOfACellThatNobodyMade) {
  const auto log = open();
  EXPECT_EQ(log->state().error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(log->last().error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(log->read(before_chain, 1).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(log->take(0, {"one", "a"}).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(log->beat(beat_of(1, 1)).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(log->raise_level(1, feature_level_newest).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(log->append(first_link()).status, Status::away);
}

TEST_P(SharedLogConformance, IsMadeOnce) {
  const auto log = open();
  ASSERT_TRUE(log->create(first_link(17), "secret"));
  const auto made = log->state();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->epoch, 0U);
  EXPECT_FALSE(made->secret.empty());
  EXPECT_FALSE(made->is_attended);
  EXPECT_EQ(made->feature_level, feature_level_newest);
  ASSERT_TRUE(open()->create(first_link(18), "secret"));
  EXPECT_EQ(*log->last(), first_link(17));
  EXPECT_EQ(log->state()->secret, made->secret);
}

TEST_P(SharedLogConformance, IsTakenByWhoSawTheLatestEpoch) {
  const auto one = open_writer();
  const auto other = open();
  EXPECT_EQ(other->take(0, {"other", "b"}).error().kind, StoreError::Kind::in_use);
  EXPECT_EQ(other->state()->holder.name, "one");
  EXPECT_EQ(other->state()->holder.address, "tls://one:1");
  EXPECT_EQ(*other->take(1, {"other", "b"}), 2U);
  EXPECT_EQ(one->take(1, {"one", "a"}).error().kind, StoreError::Kind::in_use);
  const auto state = one->state();
  EXPECT_EQ(state->epoch, 2U);
  EXPECT_EQ(state->holder.name, "other");
  EXPECT_EQ(state->beat_epoch, 2U);
  EXPECT_EQ(state->beat, 0U);
}

TEST_P(SharedLogConformance, HasALevelThatItsWriterRaises) {  // K9
  const auto one = open_writer();
  const auto other = open();
  const auto level = [&] { return other->state()->feature_level; };
  EXPECT_TRUE(one->raise_level(1, feature_level_newest + 1).value());
  EXPECT_EQ(level(), feature_level_newest + 1);
  EXPECT_TRUE(one->raise_level(1, feature_level_newest + 1).value()) << "it may be repeated";
  EXPECT_TRUE(one->raise_level(1, feature_level_newest).value());
  EXPECT_EQ(level(), feature_level_newest + 1) << "it is never lowered";
  EXPECT_FALSE(one->raise_level(2, feature_level_newest + 2).value()) << "nobody has this epoch";
  ASSERT_EQ(*other->take(1, {"other", "b"}), 2U);
  EXPECT_FALSE(one->raise_level(1, feature_level_newest + 2).value()) << "it was deposed";
  EXPECT_EQ(level(), feature_level_newest + 1);
}

TEST_P(SharedLogConformance, GrowsByOneChain) {
  const auto log = open_writer();
  std::vector<ChainLink> chain = {first_link()};
  for (int i = 0; i < 4; ++i) {
    chain.push_back(link_after(chain.back(), 1));
    ASSERT_EQ(log->append(chain.back()).status, Status::ok);
    EXPECT_EQ(*log->last(), chain.back());
  }
  const auto other = open();
  EXPECT_EQ(*other->read(before_chain, 10), chain);
  EXPECT_EQ(*other->read(3, 2), std::vector(chain.begin() + 2, chain.begin() + 4));
  EXPECT_EQ(*other->read(9, 10), std::vector(chain.end() - 1, chain.end()));
  EXPECT_TRUE(other->read(12, 10)->empty());
  EXPECT_TRUE(other->read(4, 10)->empty()) << "no link has this key";
}

TEST_P(SharedLogConformance, TakesOnlyWhatFollowsItsEnd) {
  const auto log = open_writer();
  const ChainLink one = link_after(first_link(), 1);
  const ChainLink two = link_after(one, 1);
  EXPECT_EQ(log->append(two).status, Status::conflict) << "the one before isn't there";
  ASSERT_EQ(log->append(one).status, Status::ok);
  EXPECT_EQ(log->append(one).status, Status::conflict) << "it is there already";
  ChainLink wrong = two;
  wrong.before = 1;
  EXPECT_EQ(log->append(wrong).status, Status::conflict);
  wrong = two;
  wrong.epoch_before = 2;
  EXPECT_EQ(log->append(wrong).status, Status::conflict);
  wrong = two;
  ++wrong.prev;
  EXPECT_EQ(log->append(wrong).status, Status::conflict);
  wrong = two;
  wrong.epoch = 2;
  EXPECT_EQ(log->append(wrong).status, Status::conflict) << "nobody has this epoch yet";
  EXPECT_EQ(log->append(two).status, Status::ok);
  EXPECT_EQ(*log->read(before_chain, 10), (std::vector{first_link(), one, two}));
}

TEST_P(SharedLogConformance, CarriesLargeLinks) {
  const auto log = open_writer();
  ChainLink link = link_after(first_link(), 1);
  append_link_entry(std::string(1024 * 1024, '\0'), link.bytes);
  ASSERT_EQ(log->append(link).status, Status::ok);
  EXPECT_TRUE(*log->last() == link);
}

TEST_P(SharedLogConformance, KeepsOutAWriterThatWasDeposed) {
  const auto one = open_writer();
  const ChainLink first = link_after(first_link(), 1);
  ASSERT_EQ(one->append(first).status, Status::ok);
  const auto other = open();
  ASSERT_EQ(*other->take(1, {"other", "b"}), 2U);
  EXPECT_EQ(one->append(link_after(first, 1)).status, Status::conflict);
  EXPECT_FALSE(*one->beat(beat_of(1, 7)));
  EXPECT_EQ(other->append(link_after(first, 2)).status, Status::ok);
  EXPECT_EQ(one->append(link_after(link_after(first, 2), 1)).status, Status::conflict);
  EXPECT_EQ(*one->last(), link_after(first, 2));
}

TEST_P(SharedLogConformance, ShowsTheLatestBeatUntilTheNextWriter) {
  const auto one = open_writer();
  ASSERT_TRUE(*one->beat({1, 5, 3, 1'700'000'000'000'000'001, false, ""}));
  ASSERT_TRUE(*one->beat({1, 6, 4, 1'700'000'000'000'000'002, true, "third"}));
  const auto other = open();
  const auto state = other->state();
  EXPECT_EQ(state->beat_epoch, 1U);
  EXPECT_EQ(state->beat, 6U);
  EXPECT_EQ(state->acked, 4U);
  EXPECT_EQ(state->beat_wall_ns, 1'700'000'000'000'000'002);
  EXPECT_TRUE(state->is_released);
  EXPECT_EQ(state->successor, "third");
  ASSERT_TRUE(other->take(1, {"other", "b"}));
  const auto after = other->state();
  EXPECT_EQ(after->acked, 4U) << "it stays true";
  EXPECT_FALSE(after->is_released);
  EXPECT_EQ(after->successor, "");
}

TEST_P(SharedLogConformance, IsAttendedWhileItsWriterIsConnected) {
  auto one = open_writer();
  const auto other = open();
  EXPECT_TRUE(other->state()->is_attended);
  EXPECT_TRUE(one->attend());
  one.reset();
  EXPECT_TRUE(eventually([&] { return !other->state()->is_attended; }));
  EXPECT_TRUE(other->attend());
  EXPECT_TRUE(open()->state()->is_attended);
}

TEST_P(SharedLogConformance, KeepsWhatItsServersTellOfThemselves) {
  const auto log = open_writer();
  EXPECT_TRUE(log->replicas()->empty());
  ReplicaReport report{{"two", "b"}, "standby", "1.2", 7, std::string(64, 'a'), 0};
  ASSERT_TRUE(log->report(report));
  ASSERT_TRUE(log->report({{"one", "a"}, "active", "1.2", 9, std::string(64, 'b'), 0}));
  report.applied = 8;
  report.feature_level = 7;
  ASSERT_TRUE(open()->report(report));
  const auto replicas = log->replicas();
  ASSERT_EQ(replicas->size(), 2U);
  EXPECT_EQ(replicas->at(0).server.name, "one");
  EXPECT_EQ(replicas->at(0).role, "active");
  EXPECT_EQ(replicas->at(1).server.address, "b");
  EXPECT_EQ(replicas->at(1).version, "1.2");
  EXPECT_EQ(replicas->at(1).applied, 8U);
  EXPECT_EQ(replicas->at(1).root, std::string(64, 'a'));
  EXPECT_EQ(replicas->at(0).feature_level, feature_level_min);
  EXPECT_EQ(replicas->at(1).feature_level, 7);
}

TEST_P(SharedLogConformance, TellsServersOfOneNameApart) {
  const auto log = open_writer();
  const CellServer before{"two", "b", "an identity"};
  const CellServer other{"two", "c", "another identity"};
  const auto report = [&](const CellServer& server, Position applied) {
    return open()->report({server, "standby", "1.2", applied, "", 0, 7});
  };
  ASSERT_TRUE(report({"two", "a"}, 6)) << "an earlier program reports without an identity";
  ASSERT_TRUE(report(before, 7) && report(before, 8));
  EXPECT_EQ(report(other, 9).error().kind, StoreError::Kind::in_use);
  ASSERT_EQ(log->replicas()->size(), 1U);
  const ReplicaReport earlier = log->replicas()->at(0);
  EXPECT_EQ(earlier.server.identity, "an identity");
  EXPECT_EQ(earlier.applied, 8U);
  EXPECT_TRUE(eventually([&] {  // the clock of the database has gone on
    EXPECT_TRUE(report(before, 8));
    return log->replicas()->at(0).seen_ns != earlier.seen_ns;
  }));
  EXPECT_EQ(log->take_name(earlier, other.identity).error().kind, StoreError::Kind::in_use)
      << "it has reported since";
  const ReplicaReport former = log->replicas()->at(0);
  EXPECT_EQ(former.feature_level, 7);
  ASSERT_TRUE(open()->take_name(former, other.identity));
  EXPECT_EQ(log->replicas()->at(0).feature_level, feature_level_min) << "it hasn't said its own";
  EXPECT_EQ(log->replicas()->at(0).applied, 0U) << "nor what it has";
  EXPECT_EQ(log->take_name(former, "a third identity").error().kind, StoreError::Kind::in_use)
      << "another one was first";
  EXPECT_EQ(report(before, 10).error().kind, StoreError::Kind::in_use);
  ASSERT_TRUE(report(other, 9));
  EXPECT_EQ(log->replicas()->at(0).server.address, "c");
  EXPECT_EQ(log->replicas()->at(0).feature_level, 7);
  EXPECT_EQ(report(before, 10).error().kind, StoreError::Kind::in_use);
}

TEST_P(SharedLogConformance, LosesItsFirstLinksToATrim) {  // K7
  const auto log = open_writer();
  std::vector<ChainLink> chain = {first_link()};
  for (int i = 0; i < 6; ++i) {
    chain.push_back(link_after(chain.back(), 1));
    ASSERT_EQ(log->append(chain.back()).status, Status::ok);
  }
  const auto removed = [](SharedLog& by, std::uint64_t epoch, Position through, std::size_t count) {
    const auto trimmed = by.trim(epoch, through, count);
    EXPECT_TRUE(trimmed) << trimmed.error().message;
    return trimmed ? trimmed->links : 0;
  };
  EXPECT_EQ(removed(*log, 2, 6, 10), 0U) << "another writer's epoch";
  EXPECT_EQ(log->trim(1, 7, 0)->begin, before_chain);
  std::size_t links = 0;  // a call may remove fewer than it could
  EXPECT_TRUE(eventually([&] { return (links += removed(*log, 1, 7, 1)) == 3; }));
  EXPECT_EQ(removed(*log, 1, 7, 10), 0U) << "the fourth one ends at 9";
  EXPECT_EQ(log->trim(1, 7, 10)->begin, 6U);
  EXPECT_TRUE(log->read(before_chain, 10)->empty());
  EXPECT_TRUE(log->read(3, 10)->empty());
  EXPECT_EQ(*open()->read(6, 10), std::vector(chain.begin() + 3, chain.end()));
  // Its end stays, whatever is asked for, and grows; whoever takes it finds it.
  EXPECT_TRUE(eventually([&] { return log->trim(1, 1000, 10)->begin == 15; }));
  EXPECT_EQ(*log->last(), chain.back());
  const ChainLink next = link_after(chain.back(), 1);
  ASSERT_EQ(log->append(next).status, Status::ok);
  EXPECT_EQ(*log->read(15, 10), (std::vector{chain.back(), next}));
  const auto other = open();
  ASSERT_EQ(*other->take(1, {"other", "b"}), 2U);
  EXPECT_EQ(removed(*log, 1, 18, 10), 0U) << "it was deposed";
  EXPECT_EQ(removed(*other, 2, 18, 10), 1U);
  EXPECT_EQ(other->append(link_after(next, 2)).status, Status::ok);
}

TEST_P(SharedLogConformance, GivesALinkOtherBytes) {  // K7
  const auto log = open_writer();
  const ChainLink one = link_after(first_link(), 1);
  const ChainLink two = link_after(one, 1);
  ASSERT_TRUE(log->append(one).status == Status::ok && log->append(two).status == Status::ok);
  EXPECT_EQ(*log->find(one.prev + 1), std::optional(one));
  EXPECT_EQ(*log->find(two.last + 1), std::nullopt);
  const std::string bytes(1024 * 1024, '\0');
  EXPECT_FALSE(*log->rewrite(2, one, bytes));
  EXPECT_TRUE(*log->rewrite(1, one, bytes));
  EXPECT_FALSE(*log->rewrite(1, one, "late")) << "it has other bytes now";
  EXPECT_EQ((*log->find(one.last))->bytes, bytes);
}

TEST_P(SharedLogConformance, TellsTheTime) {
  const auto log = open_writer();
  const auto now_ns = [] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const std::int64_t before_ns = now_ns();
  const auto state = log->state();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_GE(state->database_wall_ns, before_ns / 1000 * 1000);  // it is of this machine
  EXPECT_LE(state->database_wall_ns, now_ns());
}

TEST_P(SharedLogConformance, SaysThatItHasAQuorum) {
  const auto durability = open()->durability();
  ASSERT_TRUE(durability) << durability.error().message;
  EXPECT_TRUE(durability->is_quorum) << durability->message;
  EXPECT_EQ(durability->message, "");
}

TEST_P(SharedLogConformance, EndsACallThatIsInterrupted) {
  const auto writer = open_writer();
  const ChainLink link = link_after(first_link(), 1);
  set_stuck(true);
  std::unique_ptr<SharedLog> log;
  std::chrono::milliseconds head_start(100);
  // On a busy machine it may be interrupted before it has begun, and is away then.
  EXPECT_TRUE(eventually([&] {
    log = open();
    EXPECT_TRUE(log->state());  // so that it is connected
    auto appended = std::async(std::launch::async, [&] { return log->append(link); });
    EXPECT_EQ(appended.wait_for(head_start), std::future_status::timeout);
    log->interrupt();
    head_start *= 2;
    const SharedAppend answer = appended.get();
    EXPECT_TRUE(answer.status == Status::unknown || answer.status == Status::away);
    return answer.status == Status::unknown;
  }));
  EXPECT_EQ(log->append(link).status, Status::away);
  EXPECT_EQ(log->state().error().kind, StoreError::Kind::away);
  set_stuck(false);
}

TEST_P(SharedLogConformance, FindsOutAboutAnUnknownAppendByAnother) {
  const auto one = open_writer();
  const ChainLink link = link_after(first_link(), 1);
  {
    const auto hasty = open(std::chrono::milliseconds(400));
    ASSERT_TRUE(hasty->state());  // so that it is connected
    set_stuck(true);
    // On a busy machine its deadline may end before anything is sent.
    EXPECT_TRUE(eventually([&] { return hasty->append(link).status == Status::unknown; }));
    EXPECT_TRUE(eventually([&] { return has_stuck_write(); }));
    set_stuck(false);
  }
  // It landed: the former writer's connection was lost after it was sent.
  EXPECT_EQ(one->append(link).status, Status::conflict);
  EXPECT_EQ(*one->read(link.prev, 1), std::vector{link});
  EXPECT_TRUE(*one->beat(beat_of(1, 1)));
}

TEST_P(SharedLogConformance, BlocksForItsDeadlineAtMost) {
  const auto writer = open_writer();
  const auto hasty = open(std::chrono::milliseconds(400));
  ASSERT_TRUE(hasty->state());
  set_stuck(true);
  EXPECT_TRUE(eventually([&] {
    const auto beaten = hasty->beat(beat_of(1, 1));
    return !beaten && beaten.error().kind == StoreError::Kind::io;
  }));
  EXPECT_TRUE(writer->state()) << "a read needs no standby";
  EXPECT_TRUE(writer->report({{"one", "a"}, "active", "1.2", 9, "", 0})) << "nor does this";
  set_stuck(false);
}

TEST(SharedLogFunctions, CountWhatWasAcknowledged) {
  std::vector<ChainLink> links = {first_link()};
  EXPECT_EQ(acknowledged_count({}, 100), 0U);
  for (const std::uint64_t epoch : {1, 1, 2, 3}) links.push_back(link_after(links.back(), epoch));
  ASSERT_EQ(links.back().last, 12U);
  EXPECT_EQ(acknowledged_count(links, 0), 2U) << "the second follows the first of its epoch";
  EXPECT_EQ(acknowledged_count(links, 5), 2U);
  EXPECT_EQ(acknowledged_count(links, 9), 4U);
  EXPECT_EQ(acknowledged_count(links, 11), 4U);
  EXPECT_EQ(acknowledged_count(links, 12), 5U);
  links.erase(links.begin(), links.begin() + 2);
  EXPECT_EQ(acknowledged_count(links, 5), 0U);
}

}  // namespace
}  // namespace signalbox::test
