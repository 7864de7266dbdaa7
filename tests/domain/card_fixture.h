// The fixture of the tests of cards: a project with a card in its backlog, and the commands that
// take the card through its runs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "domain/admission.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {

inline constexpr std::int64_t minute_ns = 60'000'000'000;

inline Event project_put(std::string remote = "origin") {
  ProjectPut put{"/repositories/site", "main", std::move(remote), {}};
  put.pipeline.name = "site";
  for (const char* name : {"implement", "verify"}) {
    put.pipeline.stations.push_back(worker_station(name));
  }
  return ProjectEvent{put};
}
inline Event submitted(std::string key = "", std::int32_t priority = 0) {
  return CardEvent{CardSubmitted{"site", "Fix it", "All of it", std::move(key), priority}};
}

class CardTest : public GivenWhenThen {
 protected:
  CardTest() { given({project_put(), submitted()}); }

  [[nodiscard]] StartCard start_of(const CardId& id, const RunId& run_id) const {
    StartCard command{id, run_of_card(*world.find_project(project), *world.board.find(id))};
    command.run.run_id = run_id;
    command.run.pipeline_digest = digest_of(7);
    return command;
  }
  [[nodiscard]] MergeCard merge_of(const CardId& id, const RunId& run_id) const {
    MergeCard command{id, run_of_merge(*world.find_project(project), *world.board.find(id))};
    command.run.run_id = run_id;
    command.run.pipeline_digest = digest_of(8);
    return command;
  }
  // A worker claims the run's next station and ends it with this outcome.
  void work(const std::string& station, Outcome outcome, ErrorClass error_class = {},
            const std::string& commit = "") {
    when(claim_by("ann", {station}));
    CompleteStation done = end_of(station, the_run().attempt->token, outcome);
    if (outcome != Outcome::succeeded) {
      done.error_class = error_class;
      done.error_code = "CHECKS_FAILED";
      done.error_message = "two tests fail";
    }
    if (!commit.empty()) done.external_ref = commit;
    when(done);
  }
  void fail() { work("implement", Outcome::failed, ErrorClass::terminal); }
  [[nodiscard]] const Card& the_card() const { return *world.board.find(card); }
  [[nodiscard]] CardStatus status() const { return the_card().status; }
};

// The card is verified, and its next run, which merges it, has the id `run`.
class VerifiedCardTest : public CardTest {
 protected:
  VerifiedCardTest() {
    when(start_of(card, run));
    work("implement", Outcome::succeeded);
    work("verify", Outcome::succeeded, {}, "c0ffee");
    run = uuid_of(9);
  }
  // The service executes the stations of the merge, so they are dispatched.
  void finish_merge(Outcome outcome, const std::string& code = "",
                    ErrorClass error_class = ErrorClass::terminal) {
    for (const char* station : {"merge", "push"}) {
      execute(station, outcome, code, error_class);
      if (outcome != Outcome::succeeded) return;
    }
  }
  // The service executes one station of the run, with this outcome.
  void execute(const std::string& station, Outcome outcome, const std::string& code = "",
               ErrorClass error_class = ErrorClass::terminal) {
    when(DispatchStation{run, uuid_of(0x60), {}});
    CompleteStation done = end_of(station, the_run().attempt->token, outcome);
    if (outcome != Outcome::succeeded) {
      done.error_class = error_class;
      done.error_code = code;
      done.error_message = "no";
    }
    done.external_ref = "feed";
    done.from_executor = true;
    when(done);
  }
};

}  // namespace signalbox
