// The bounded map Remembered: it evicts the oldest key first and reports it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "domain/limits.h"
#include "domain/remembered.h"
#include "domain/world.h"

namespace signalbox {
namespace {

using Numbers = Remembered<std::string, int>;

std::vector<std::string> keys(const Numbers& numbers) {
  std::vector<std::string> all;
  numbers.for_each([&](const std::string& key, int) { all.push_back(key); });
  return all;
}

TEST(RememberedTest, TheOldestIsForgottenFirst) {
  Numbers numbers(2);
  std::vector<std::string> forgotten;
  const auto note = [&](const std::string& key, int) { forgotten.push_back(key); };
  for (const char* key : {"a", "b", "c", "d"}) numbers.put(key, 1, note);
  EXPECT_EQ(forgotten, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(keys(numbers), (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(numbers.find("a"), nullptr);
  EXPECT_EQ(numbers.size(), 2u);
}

TEST(RememberedTest, AnOverwrittenKeyKeepsItsAge) {
  Numbers numbers(2);
  for (const char* key : {"a", "b"}) numbers.put(key, 1);
  numbers.put("a", 2);
  EXPECT_EQ(*numbers.find("a"), 2);
  numbers.put("c", 1);
  EXPECT_EQ(keys(numbers), (std::vector<std::string>{"b", "c"}));
}

TEST(RememberedTest, AnErasedKeyIsForgottenAndComesBackAsTheNewest) {
  Numbers numbers(3);
  for (const char* key : {"a", "b", "c"}) numbers.put(key, 1);
  EXPECT_TRUE(numbers.erase("a"));
  EXPECT_FALSE(numbers.erase("a"));
  EXPECT_EQ(numbers.find("a"), nullptr);
  EXPECT_EQ(keys(numbers), (std::vector<std::string>{"b", "c"}));
  numbers.put("a", 2);
  EXPECT_TRUE(numbers.erase("c"));
  EXPECT_EQ(keys(numbers), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(numbers.size(), 2u);
}

TEST(RememberedTest, AWorldRemembersAsManyCommandsAsItsLimit) {  // P8
  World world;
  for (std::size_t number = 0; number < limits::remembered_commands_max; ++number) {
    world.commands.put(std::to_string(number), {});
  }
  EXPECT_EQ(world.commands.size(), limits::remembered_commands_max);
  EXPECT_NE(world.commands.find("0"), nullptr);
  world.commands.put("another", {});
  EXPECT_EQ(world.commands.size(), limits::remembered_commands_max);
  EXPECT_EQ(world.commands.find("0"), nullptr);
  EXPECT_NE(world.commands.find("1"), nullptr);
}

}  // namespace
}  // namespace signalbox
