// The commands that `run why`, `card why` and refusals name are taken at that moment. Each is
// pasted as it was printed, in every state that the transcripts and the conversations below reach.
#include <algorithm>
#include <array>
#include <string_view>

#include "tests/scenarios/conversation.h"

namespace signalbox {
namespace {

// What changes nothing is tried in the conversation itself.
constexpr std::array reading_commands = {
    "run get",  "run why",      "run list",    "run watch", "lock get", "lock list",
    "card get", "card why",     "card list",   "plan get",  "project ", "tick list",
    "events ",  "server limit", "strategy li", "loop list", "board",    "status"};

bool only_reads(const std::string& command) {
  if (command.starts_with("signalbox project put")) return false;
  return std::any_of(reading_commands.begin(), reading_commands.end(),
                     [&command](std::string_view words) {
                       return command.starts_with("signalbox " + std::string(words));
                     });
}

// Returns whether a person has to fill something in first, or to run it elsewhere.
bool has_placeholder(const std::string& command) {
  return !command.starts_with("signalbox ") || command.ends_with(" PATH") ||
         command.find("$(") != std::string::npos;
}

// Appends all next_commands in the value, in its order.
void add_commands(const boost::json::value& value, std::vector<std::string>& commands) {
  if (const auto* array = value.if_array()) {
    for (const boost::json::value& each : *array) add_commands(each, commands);
  }
  const auto* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& each : *object) {
    if (each.key() != "next_commands") {
      add_commands(each.value(), commands);
      continue;
    }
    for (const boost::json::value& command : each.value().as_array()) {
      commands.emplace_back(command.as_string());
    }
  }
}

void expect_taken(const Conversation& conversation, const std::string& command) {
  std::string pasted = command;
  // It goes on until the run ends; what it shows first is what this shows.
  if (command.starts_with("signalbox run watch ")) pasted.replace(14, 5, "get");
  const Output output = conversation.paste(pasted);
  EXPECT_EQ(output.exit_code, 0) << command << "\n" << output.out << output.err;
}

// Plays the conversation and tries what only reads; then plays it again up to each of the other
// commands. Returns the number of commands that were tried.
std::size_t try_all(const std::string& text) {
  struct Place {
    std::size_t answer;
    std::size_t command;
  };
  std::vector<Place> changing;
  std::size_t tried = 0;
  std::size_t answers = 0;
  const auto commands_of = [](const boost::json::value& answer) {
    std::vector<std::string> commands;
    add_commands(answer, commands);
    return commands;
  };
  play_transcript(text, [&](const Conversation& conversation, const boost::json::value& answer) {
    const std::vector<std::string> commands = commands_of(answer);
    for (std::size_t index = 0; index < commands.size(); ++index) {
      if (has_placeholder(commands[index])) continue;
      ++tried;
      if (only_reads(commands[index])) {
        expect_taken(conversation, commands[index]);
      } else {
        changing.push_back({answers, index});
      }
    }
    ++answers;
    return true;
  });
  for (const Place& place : changing) {
    std::size_t at = 0;
    bool reached = false;
    play_transcript(text, [&](const Conversation& conversation, const boost::json::value& answer) {
      if (at++ != place.answer) return true;
      const std::vector<std::string> commands = commands_of(answer);
      EXPECT_GT(commands.size(), place.command);
      if (commands.size() > place.command) expect_taken(conversation, commands[place.command]);
      reached = true;
      return false;
    });
    EXPECT_TRUE(reached);
  }
  return tried;
}

class NextCommands : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Files, NextCommands, testing::ValuesIn(transcript_names()),
                         [](const auto& each) { return each.param; });

TEST_P(NextCommands, OfATranscriptAreTaken) {  // A14
  EXPECT_GT(try_all(content_of(transcripts / (GetParam() + ".txt"))), 0U);
}

TEST(NextCommandsOf, ACardWhoseRunFailedAreTaken) {  // A14
  EXPECT_GE(try_all(R"(! repository
> {"method":"project.put","params":{"name":"my site","repository":"$repository","pipeline":{"name":"p","station":[{"name":"implement"},{"name":"verify"}]}}}
> {"method":"card.submit","params":{"project":"my site","title":"Fix it"}}
= card result.card_id
? {"method":"card.get","params":{"card_id":"$card"}} result.card.status running
> {"method":"card.get","params":{"card_id":"$card"}}
= run result.card.run_id
> {"method":"station.claim","params":{"worker":"ann","run_id":"$run"}}
= token result.claim.token
> {"method":"station.complete","params":{"run_id":"$run","station":"implement","token":$token,"outcome":"failed","error_class":"terminal","error_code":"RED"}}
> {"method":"run.why","params":{"run_id":"$run"}}
> {"method":"card.why","params":{"card_id":"$card"}}
> {"method":"run.retry","params":{"run_id":"$run"}}
> {"method":"card.submit","params":{"project":"my site","title":"Stop it"}}
= second result.card_id
? {"method":"card.get","params":{"card_id":"$second"}} result.card.status running
> {"method":"card.get","params":{"card_id":"$second"}}
= other result.card.run_id
> {"method":"card.why","params":{"card_id":"$second"}}
> {"method":"run.cancel","params":{"run_id":"$other"}}
> {"method":"run.why","params":{"run_id":"$other"}}
> {"method":"card.why","params":{"card_id":"$second"}}
> {"method":"card.block","params":{"card_id":"00000000-0000-0000-0000-000000000001","reason":"no"}}
)"),
            10U);
}

TEST(NextCommandsOf, ARunThatWaitsAreTaken) {  // A14
  EXPECT_GE(try_all(R"(
> {"method":"run.start","params":{"goal":"g","pipeline":{"name":"p","station":[{"name":"work","retry":{"backoff":"30m"}}]}}}
= run result.run_id
> {"method":"station.claim","params":{"worker":"ann","run_id":"$run","lease_ms":60000}}
= token result.claim.token
> {"method":"run.why","params":{"run_id":"$run"}}
> {"method":"station.defer","params":{"run_id":"$run","station":"work","token":$token,"delay_ms":3600000,"note":"not before noon"}}
> {"method":"run.why","params":{"run_id":"$run"}}
> {"method":"run.retry","params":{"run_id":"$run"}}
> {"method":"run.pause","params":{"run_id":"$run"}}
> {"method":"run.why","params":{"run_id":"$run"}}

> {"method":"run.start","params":{"goal":"g","pipeline":{"name":"q","station":[{"name":"work","retry":{"backoff":"30m"}}]}}}
= run result.run_id
> {"method":"station.claim","params":{"worker":"ann","run_id":"$run","lease_ms":60000}}
= token result.claim.token
> {"method":"station.complete","params":{"run_id":"$run","station":"work","token":$token,"outcome":"failed","error_class":"transient","error_code":"NET"}}
> {"method":"run.why","params":{"run_id":"$run"}}

> {"method":"run.start","params":{"goal":"g","pipeline":{"name":"s","station":[{"name":"work","stall_after":"20ms","stall_actions":["nudge"]}]}}}
= run result.run_id
> {"method":"station.claim","params":{"worker":"ann","run_id":"$run","lease_ms":60000}}
= token result.claim.token
> {"method":"station.heartbeat","params":{"run_id":"$run","station":"work","token":$token,"progress_digest":"same"}}
? {"method":"run.why","params":{"run_id":"$run"}} result.reasons.0.reason stalled
> {"method":"run.why","params":{"run_id":"$run"}}

> {"method":"run.start","params":{"goal":"g","pipeline":{"name":"j","station":[{"name":"job","executor":"process","command":["sh","-c","exit 3"],"retry":{"max_retries":0}}]}}}
= run result.run_id
? {"method":"run.get","params":{"run_id":"$run"}} result.run.status failed
> {"method":"run.why","params":{"run_id":"$run"}}
)"),
            10U);
}

TEST(NextCommandsOf, ALockWithAnyNameAreTaken) {  // A14
  EXPECT_GE(try_all(R"(
> {"method":"lock.acquire","params":{"key":"it's; a key","owner":"ann","lease_ms":60000}}
= lock result.token
> {"method":"lock.acquire","params":{"key":"it's; a key","owner":"bob"}}
> {"method":"run.start","params":{"goal":"g","pipeline":{"name":"p","station":[{"name":"work","retry":{"backoff":"30m"}}]}}}
= run result.run_id
> {"method":"station.claim","params":{"worker":"ann","run_id":"$run","lease_ms":60000,"lock_token":$lock}}
> {"method":"lock.release","params":{"key":"it's; a key","token":$lock}}
> {"method":"run.why","params":{"run_id":"$run"}}
)"),
            4U);
}

}  // namespace
}  // namespace signalbox
