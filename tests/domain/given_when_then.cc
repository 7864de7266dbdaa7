#include "tests/domain/given_when_then.h"

#include "domain/evolve.h"
#include "domain/invariants.h"

namespace signalbox {

GivenWhenThen::GivenWhenThen() = default;
GivenWhenThen::~GivenWhenThen() = default;

CompleteStation GivenWhenThen::end_of(std::string station, Token token, Outcome outcome) const {
  CompleteStation command;
  command.run_id = run;
  command.station = std::move(station);
  command.token = token;
  command.outcome = outcome;
  return command;
}

void GivenWhenThen::given(const std::vector<Event>& past) {
  for (const Event& event : past) record({stream_of(event), uuid_of(0x50), 0, event}, "");
  check_invariants(world);
}

void GivenWhenThen::when(const Command& command, const std::string& command_id) {
  Decided<NewEvents> decided = decide(world, command, now);
  rejection.reset();
  events.clear();
  if (!decided) {
    rejection = std::move(decided.error());
    return;
  }
  events = std::move(*decided);
  for (const NewEvent& event : events) record(event, command_id);
  check_invariants(world);
}

void GivenWhenThen::then(const std::vector<Event>& expected) {
  ASSERT_FALSE(rejection.has_value()) << rejection->message;
  std::vector<Event> decided;
  std::string have;
  std::string want;
  for (const NewEvent& each : events) {
    decided.push_back(each.event);
    have += shown(each.event) + "\n";
  }
  for (const Event& each : expected) want += shown(each) + "\n";
  EXPECT_TRUE(decided == expected) << "decided:\n" << have << "expected:\n" << want;
}

void GivenWhenThen::then_names(const std::vector<std::string>& expected) {
  ASSERT_FALSE(rejection.has_value()) << rejection->message;
  std::vector<std::string> names;
  for (const NewEvent& each : events) names.emplace_back(tag_of(each.event).name);
  EXPECT_EQ(names, expected);
}

void GivenWhenThen::then_rejected(ErrorCode code) {
  ASSERT_TRUE(rejection.has_value()) << "it was accepted";
  EXPECT_EQ(shown(rejection->code), shown(code)) << rejection->message;
  EXPECT_FALSE(rejection->message.empty());
}

Stream GivenWhenThen::stream_of(const Event& event) const {
  return std::visit(
      [this](const auto& noun) {
        using Noun = std::remove_cvref_t<decltype(noun)>;
        if constexpr (std::is_same_v<Noun, ServerEvent> || std::is_same_v<Noun, RunnerEvent>) {
          return Stream::server();
        } else if constexpr (std::is_same_v<Noun, LockEvent>) {
          return Stream::lock(std::visit([](const auto& each) { return each.key; }, noun));
        } else if constexpr (std::is_same_v<Noun, TickEvent>) {
          return Stream::tick(std::visit([](const auto& each) { return each.loop; }, noun));
        } else if constexpr (std::is_same_v<Noun, ProjectEvent>) {
          return Stream::project(project);
        } else if constexpr (std::is_same_v<Noun, CardEvent>) {
          return Stream::card(card);
        } else if constexpr (std::is_same_v<Noun, AccessEvent>) {
          return Stream::access();
        } else {
          return Stream::run(run);
        }
      },
      event);
}

void GivenWhenThen::record(const NewEvent& event, const std::string& command_id) {
  Record record;
  record.position = world.position + 1;
  record.stream = event.stream;
  record.recorded_at_ns = now.wall_ns;
  record.actor = actor;
  record.command_id = command_id;
  record.span_id = event.span_id;
  record.cause = event.cause;
  record.event = event.event;
  evolve(world, record);
}

}  // namespace signalbox
