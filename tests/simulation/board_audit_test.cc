// Checks that the audit of the board distinguishes a merge or a push that is to be made again from
// work that is.
#include "tests/simulation/board_audit.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/service_loops.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t half_an_hour_ns = 30 * ns_per_minute;

// A card whose run is under way.
class AuditOfACard : public ::testing::Test {
 protected:
  AuditOfACard() {
    book_.sent("c1", "card.submit", {{"project", "site"}, {"title", "Fix it"}});
    read({of(Stream::project("site"), ProjectEvent{ProjectPut{}})});
    Record submitted =
        of(Stream::card(card_), CardEvent{CardSubmitted{"site", "Fix it", "", "", 0}});
    submitted.command_id = "c1";
    read({std::move(submitted)});
    read({of(Stream::card(card_), CardEvent{CardStarted{run_, 1}}),
          of(Stream::run(run_), RunEvent{RunStarted{}})});
    environment_.violation.reset();  // nothing here ran in a tick
  }
  Record of(Stream stream, Event event) {
    Record record;
    record.position = ++tail_;
    record.stream = std::move(stream);
    record.event = std::move(event);
    return record;
  }
  void read(const Commit& commit) { audit_.read(commit); }

  Environment environment_{1, Mutant::none, 10};
  CommandBook book_{environment_};
  SimulatedRepositories repositories_{environment_};
  BoardAudit audit_{environment_, book_, repositories_, 0, [](const RunId&) { return false; }};
  const CardId card_ = *parse_uuid("00000000-0000-0000-0000-000000000001");
  const RunId run_ = *parse_uuid("00000000-0000-0000-0000-000000000002");
  const RunId merge_ = *parse_uuid("00000000-0000-0000-0000-000000000003");
  Position tail_ = 0;
};

// A verified card whose merge ends with one commit.
class AuditOfMerges : public AuditOfACard {
 protected:
  AuditOfMerges() {
    read({of(Stream::run(run_), RunEvent{RunSucceeded{}}),
          of(Stream::card(card_), CardEvent{CardVerified{run_, 3, "c0ffee"}})});
    read({of(Stream::card(card_), CardEvent{CardMergeStarted{merge_}}),
          of(Stream::run(merge_), RunEvent{RunStarted{}})});
    environment_.violation.reset();  // nothing here ran in a tick
  }
  // Return what is wrong with the end of the merge after this failure, or "".
  std::string wrong_deferral(ErrorClass error_class, const std::string& code) {
    return wrong_end(error_class, code, CardMergeDeferred{merge_, code, "no"});
  }
  std::string wrong_block(ErrorClass error_class, const std::string& code) {
    return wrong_end(error_class, code, CardBlocked{merge_, code, "no", half_an_hour_ns});
  }

 private:
  std::string wrong_end(ErrorClass error_class, const std::string& code, CardEvent end) {
    read({of(Stream::run(merge_), RunEvent{RunFailed{"merge", error_class, code, "no"}}),
          of(Stream::card(card_), Event{std::move(end)})});
    return environment_.violation.value_or("");
  }
};

// A card whose run failed at this station and with this code, and which is back in the backlog
// and is started again, in a tick of the heartbeat.
class AuditOfPushes : public AuditOfACard {
 protected:
  std::string wrong_start(const std::string& station, const std::string& code, const RunId& next) {
    book_.sent("c2", "card.unblock", {});
    read({of(Stream::run(run_), RunEvent{RunFailed{station, ErrorClass::transient, code, "no"}}),
          of(Stream::card(card_), CardEvent{CardBlocked{run_, code, "no", 0}})});
    Record unblocked = of(Stream::card(card_), CardEvent{CardUnblocked{}});
    unblocked.command_id = "c2";
    read({std::move(unblocked)});
    read({of(Stream::tick(std::string(heartbeat_loop_name)), TickEvent{TickStarted{}})});
    environment_.violation.reset();
    const Event opening =
        next == run_ ? Event{RunEvent{RunRetried{}}} : Event{RunEvent{RunStarted{}}};
    read(
        {of(Stream::card(card_), CardEvent{CardStarted{next, 1}}), of(Stream::run(next), opening)});
    return environment_.violation.value_or("");
  }
};

TEST_F(AuditOfPushes, AFailedPushIsMadeAgainAndNotTheWork) {  // A9
  EXPECT_EQ(wrong_start("create_pr", "PUSH_FAILED", run_), "");
  EXPECT_EQ(wrong_start("create_pr", "STORAGE_FAILED", run_), "");
}

TEST_F(AuditOfPushes, AnotherRunAfterIt) {  // A9
  EXPECT_NE(wrong_start("create_pr", "PUSH_FAILED", merge_).find("only its proposal had failed"),
            std::string::npos);
}

TEST_F(AuditOfPushes, AnyOtherRunIsOver) {  // A9
  EXPECT_NE(wrong_start("implement", "STORAGE_FAILED", run_).find("that run of it is over"),
            std::string::npos);
}

struct FailedMerge {
  ErrorClass error_class;
  const char* code;
};
void PrintTo(const FailedMerge& merge, std::ostream* out) { *out << merge.code; }

class MergedAgain : public AuditOfMerges, public ::testing::WithParamInterface<FailedMerge> {};
class WorkedOnAgain : public AuditOfMerges, public ::testing::WithParamInterface<FailedMerge> {};

TEST_P(MergedAgain, MayBeDeferred) {  // A9
  EXPECT_EQ(wrong_deferral(GetParam().error_class, GetParam().code), "");
}

TEST_P(MergedAgain, MustNotBeBlocked) {  // A9
  EXPECT_NE(wrong_block(GetParam().error_class, GetParam().code)
                .find("its merge is to be tried again, and not its work"),
            std::string::npos);
}

TEST_P(WorkedOnAgain, MustNotBeDeferred) {  // A9
  EXPECT_NE(
      wrong_deferral(GetParam().error_class, GetParam().code).find("its work has to be done again"),
      std::string::npos);
}

TEST_P(WorkedOnAgain, MayBeBlocked) {  // A9
  EXPECT_EQ(wrong_block(GetParam().error_class, GetParam().code), "");
}

INSTANTIATE_TEST_SUITE_P(Outside, MergedAgain,
                         ::testing::Values(FailedMerge{ErrorClass::terminal, "BASE_MOVED"},
                                           FailedMerge{ErrorClass::terminal, "BASE_CHECKED_OUT"},
                                           FailedMerge{ErrorClass::config, "BASE_NOT_FOUND"},
                                           FailedMerge{ErrorClass::transient, "PUSH_FAILED"},
                                           FailedMerge{ErrorClass::lost, "JOB_LOST"},
                                           FailedMerge{ErrorClass::quota, "USAGE_LIMIT"}));
INSTANTIATE_TEST_SUITE_P(OfTheWork, WorkedOnAgain,
                         ::testing::Values(FailedMerge{ErrorClass::terminal, "MERGE_CONFLICT"},
                                           FailedMerge{ErrorClass::terminal, "CHECKS_FAILED"},
                                           FailedMerge{ErrorClass::config, "CHECK_NOT_RUNNABLE"},
                                           FailedMerge{ErrorClass::config, "EXIT_NONZERO"}));

}  // namespace
}  // namespace signalbox::simulation
