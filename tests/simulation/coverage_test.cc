// Checks that every type of event that the domain has occurs in a simulation.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {
namespace {

constexpr std::uint64_t seeds_max = 300;

// Events that no simulation causes, with the reason. A new noun doesn't belong here: it gets a
// client (client.h).
const std::map<std::string_view, std::string_view> allowed_missing{
    {"PayloadRedacted", "no client of a simulation redacts anything"},
    {"ProjectionRebuilt",
     "the read models of a simulation are in memory, where nothing is damaged"}};

TEST(Coverage, EveryTypeOfEventOccurs) {
  EventCounts counts;
  SimulationOptions options;
  const auto unexplained = [&counts] {
    std::string names;
    for (const std::string_view name : counts.missing()) {
      if (!allowed_missing.contains(name)) names += std::string(name) + " ";
    }
    return names;
  };
  for (; options.seed <= seeds_max && (options.seed == 1 || !unexplained().empty());
       ++options.seed) {
    announce(options);
    counts.add(simulate(options).event_counts);
  }
  RecordProperty("seeds", static_cast<int>(options.seed - 1));
  EXPECT_EQ(unexplained(), "") << "never occurred in " << seeds_max << " seeds";
  counts.for_each([](std::string_view name, std::uint64_t count) {
    EXPECT_TRUE(count == 0 || !allowed_missing.contains(name))
        << name << " occurs, and needs no permission to be missing";
  });
}

TEST(Coverage, AMissingTypeOfEventIsNamed) {
  const EventCounts nothing;
  EXPECT_EQ(nothing.missing().size(), event_types);
  EventCounts counts;
  counts.count(ServerEvent{ClockJumped{}});
  EXPECT_EQ(counts.missing().size(), event_types - 1);
  for (const std::string_view name : counts.missing()) EXPECT_NE(name, "ClockJumped");
}

}  // namespace
}  // namespace signalbox::simulation
