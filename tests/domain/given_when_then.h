// The fixture of the domain's tests, in three steps: given these events, when this command, then
// those events or that rejection. given() and when() evolve the world and check the invariants.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "domain/decide.h"
#include "domain/world.h"
#include "tests/domain/shown_event.h"

namespace signalbox {

inline Uuid uuid_of(std::uint8_t number) {
  Uuid uuid;
  uuid.bytes.back() = number;
  return uuid;
}
inline Digest digest_of(std::uint8_t number) {
  Digest digest;
  digest.bytes.front() = number;
  return digest;
}

inline StationDefinition worker_station(std::string name, RetryPolicy retry = {}) {
  StationDefinition station;
  station.name = std::move(name);
  station.retry = std::move(retry);
  return station;
}
inline StationDefinition process_station(std::string name) {
  StationDefinition station = worker_station(std::move(name));
  station.executor = ExecutorKind::process;
  station.command = {"true"};
  return station;
}

inline ClaimStation claim_by(std::string worker, std::vector<std::string> stations = {}) {
  ClaimStation command;
  command.worker = std::move(worker);
  command.stations = std::move(stations);
  return command;
}

// Short constructors of events as they are in a log.
inline Event started(PipelineDefinition pipeline, std::string idempotency_key = "") {
  RunStarted event;
  event.goal = "goal";
  event.idempotency_key = std::move(idempotency_key);
  event.request_digest = digest_of(1);
  event.pipeline_digest = digest_of(0x90);
  event.pipeline = std::move(pipeline);
  return RunEvent{event};
}
inline Event claimed(std::string station, std::uint32_t attempt = 1,
                     Strategy strategy = Strategy::original, std::int64_t lease_ms = 1000) {
  return StationEvent{
      StationClaimed{std::move(station), attempt, strategy, "ann", lease_ms, /*lock_token=*/0}};
}
inline Event dispatched(std::string station, std::uint32_t attempt = 1) {
  return StationEvent{
      StationClaimed{std::move(station), attempt, Strategy::original, "signalbox", 0, 0}};
}
inline Event intended(std::string station, std::string job_id = "job") {
  return StationEvent{StationSubmitIntended{std::move(station), std::move(job_id), {}}};
}
inline Event succeeded(std::string station, std::uint32_t attempt = 1) {
  return StationEvent{StationSucceeded{std::move(station), attempt, {}}};
}
inline Event run_succeeded() { return RunEvent{RunSucceeded{}}; }

class GivenWhenThen : public ::testing::Test {
 protected:
  GivenWhenThen();
  ~GivenWhenThen() override;

  // Applies the events to the world. Each gets the next position: the first has 1, and a claim's
  // token is its index in the list from 1.
  void given(const std::vector<Event>& past);
  // Decides the command and applies the events, or keeps the rejection.
  void when(const Command& command, const std::string& command_id = "");
  // Expect the result of the latest when(): these events, no events, events with these names, or a
  // rejection with this code.
  void then(const std::vector<Event>& expected);
  void then_nothing() { then({}); }
  void then_names(const std::vector<std::string>& expected);
  void then_rejected(ErrorCode code);

  // Returns the command with which a worker completes an attempt of the run.
  [[nodiscard]] CompleteStation end_of(std::string station, Token token,
                                       Outcome outcome = Outcome::succeeded) const;
  [[nodiscard]] const signalbox::Run& the_run() const { return *world.find_run(run); }

  World world;
  RunId run = uuid_of(1);        // stream of the run events in given()
  std::string project = "site";  // stream of its project events
  CardId card = uuid_of(0xca);   // stream of its card events
  Now now{1'000'000'000};
  std::string actor;                   // of the records
  NewEvents events;                    // decided by the latest when()
  std::optional<Rejection> rejection;  // of the latest when()

 private:
  [[nodiscard]] Stream stream_of(const Event& event) const;
  void record(const NewEvent& event, const std::string& command_id);
};

}  // namespace signalbox
