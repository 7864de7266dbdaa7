// The validation of pipeline definitions, prompt templates, and the backoff of a retry policy.
#include <gtest/gtest.h>

#include <functional>

#include "domain/limits.h"
#include "domain/pipeline.h"
#include "domain/prompt_template.h"
#include "domain/retry_policy.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

TEST(PipelineTest, TheDefaultIsValidAndInOrder) {  // S3
  const PipelineDefinition pipeline = default_pipeline();
  EXPECT_TRUE(validate(pipeline).has_value());
  std::vector<std::string> names;
  for (const StationDefinition& station : pipeline.stations) names.push_back(station.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"intake", "plan", "implement", "verify", "create_pr"}));
}

TEST(PipelineTest, DeepWorkHasItsDefaults) {  // D2, D3, D4
  const DeepWorkDefinition work;
  EXPECT_EQ(work.max_files, 50U);
  EXPECT_EQ(work.explore_timeout_ms, 30'000);
  EXPECT_EQ(work.max_steps, 20U);
  EXPECT_EQ(work.max_retries, 3U);
  EXPECT_EQ(work.retry_delay_ms, 0);
  EXPECT_EQ(work.strategies, (std::vector<Strategy>{Strategy::original, Strategy::simplified,
                                                    Strategy::alternative, Strategy::decomposed}));
}

struct Fault {
  const char* field;
  std::function<void(PipelineDefinition&)> make;
};

TEST(PipelineTest, EachFaultIsRefusedWithItsStationAndField) {
  const auto station = [](auto change) {
    return [change](PipelineDefinition& pipeline) { change(pipeline.stations[1]); };
  };
  const std::vector<Fault> faults = {
      {"name", station([](StationDefinition& s) { s.name = ""; })},
      {"name", station([](StationDefinition& s) { s.name = "../escape"; })},
      {"name", station([](StationDefinition& s) { s.name = std::string(65, 'a'); })},
      {"name", station([](StationDefinition& s) { s.name = "a"; })},  // a duplicate
      {"command", station([](StationDefinition& s) { s.executor = ExecutorKind::process; })},
      {"command", station([](StationDefinition& s) { s.command = {"true"}; })},
      {"executor", station([](StationDefinition& s) { s.executor = ExecutorKind::builtin; })},
      {"timeout", station([](StationDefinition& s) { s.timeout_ms = 0; })},
      {"timeout", station([](StationDefinition& s) { s.timeout_ms = limits::timeout_ms_max + 1; })},
      {"heartbeat_timeout",
       station([](StationDefinition& s) { s.heartbeat_timeout_ms = limits::lease_ms_min - 1; })},
      {"cancel_grace", station([](StationDefinition& s) { s.cancel_grace_ms = -1; })},
      {"retry.max_retries",
       station([](StationDefinition& s) { s.retry.max_retries = limits::retries_max + 1; })},
      {"retry.backoff", station([](StationDefinition& s) { s.retry.backoff_ms = -1; })},
      {"retry.strategies", station([](StationDefinition& s) { s.retry.strategies = {}; })},
      {"retry.strategies", station([](StationDefinition& s) {
         s.retry.strategies = {Strategy::original, Strategy::simplified, Strategy::original};
       })},
      {"retry.strategies",
       station([](StationDefinition& s) { s.retry.strategies.assign(2, Strategy::original); })},
      {"name", [](PipelineDefinition& pipeline) { pipeline.name = ""; }},
      {"station", [](PipelineDefinition& pipeline) { pipeline.stations.clear(); }},
      {"station",
       [](PipelineDefinition& pipeline) {
         pipeline.stations[1] = process_station("b");
         pipeline.stations[1].command.assign(3, std::string(limits::pipeline_bytes_max / 2, 'x'));
       }},
      {"station",
       [](PipelineDefinition& pipeline) {
         for (std::size_t i = 0; i < limits::stations_max; ++i) {
           pipeline.stations.push_back(worker_station("s" + std::to_string(i)));
         }
       }},
  };
  const PipelineDefinition good{"two", {worker_station("a"), worker_station("b")}};
  ASSERT_TRUE(validate(good).has_value());
  for (const Fault& fault : faults) {
    PipelineDefinition pipeline = good;
    fault.make(pipeline);
    const auto result = validate(pipeline);
    ASSERT_FALSE(result.has_value()) << fault.field;
    EXPECT_EQ(result.error().code, ErrorCode::PIPELINE_INVALID);
    ASSERT_EQ(result.error().details.size(), 2u);
    EXPECT_EQ(std::get<std::string>(result.error().details[1].value), fault.field)
        << result.error().message;
  }
}

// A refusal names the key that is there, and what would make it right.
TEST(PipelineTest, AKeyOfAnotherExecutorSaysWhoseItIs) {
  const auto refusal = [](auto change) {
    PipelineDefinition pipeline{"one", {worker_station("a")}};
    change(pipeline.stations.front());
    return validate(pipeline).error().message;
  };
  EXPECT_EQ(refusal([](StationDefinition& s) { s.command = {"true"}; }),
            "station a: command belongs to the executors process and coderunner; executor = "
            "\"process\" has the service run it");
  const auto as_approval = [](auto change) {
    return [change](StationDefinition& s) {
      s.executor = ExecutorKind::approval;
      change(s);
    };
  };
  EXPECT_EQ(refusal(as_approval([](auto& s) { s.checks.emplace().instructions = "look"; })),
            "station a: instructions belongs to the executor checks");
  EXPECT_EQ(refusal(as_approval([](auto& s) { s.checks.emplace(); })),
            "station a: checks belongs to the executor checks");
  EXPECT_EQ(refusal(as_approval([](auto& s) { s.modal.emplace(); })),
            "station a: modal belongs to the executors coderunner and modal");
}

TEST(PipelineTest, AnAgentsPromptHasKnownPlaceholdersOnly) {
  PipelineDefinition pipeline{"one", {worker_station("a")}};
  StationDefinition& station = pipeline.stations.front();
  station.executor = ExecutorKind::coderunner;
  CoderunnerDefinition& agent = station.coderunner.emplace();
  for (const char* prompt : {"", "plain", "{{goal}} {{ input }}{{previous}}{{strategy}}{{station}}",
                             "a {single} brace", "an open {{goal"}) {
    agent.prompt = prompt;
    EXPECT_TRUE(validate(pipeline).has_value()) << prompt;
  }
  for (const char* prompt : {"{{gaol}}", "{{}}", "{{goal}} and {{token}}"}) {
    agent.prompt = prompt;
    const auto result = validate(pipeline);
    ASSERT_FALSE(result.has_value()) << prompt;
    EXPECT_EQ(result.error().code, ErrorCode::PIPELINE_INVALID);
  }
}

TEST(PromptTemplate, FillsOnceAndLeavesValuesAlone) {
  const PromptValues values{"the {{input}} goal", "in", "before", "so", "plan"};
  EXPECT_EQ(fill_prompt("{{goal}}|{{ input }}|{{previous}}|{{strategy}}|{{station}}", values),
            "the {{input}} goal|in|before|so|plan");
  EXPECT_EQ(fill_prompt("{{other}} {{goal", values), "{{other}} {{goal");
  EXPECT_EQ(unknown_placeholder("{{goal}} {{other}}"), "{{other}}");
}

TEST(PipelineTest, BackoffDoublesUpToItsLimit) {
  RetryPolicy policy;
  policy.backoff_ms = 1000;
  EXPECT_EQ(backoff_ms(policy, 1), 1000);
  EXPECT_EQ(backoff_ms(policy, 2), 2000);
  EXPECT_EQ(backoff_ms(policy, 5), 16000);
  EXPECT_EQ(backoff_ms(policy, 1000), limits::backoff_ms_max);
  policy.backoff_ms = 0;
  EXPECT_EQ(backoff_ms(policy, 100), 0);
}

TEST(PipelineTest, TheServicesOwnPipelinesEndWithAProposal) {
  const auto names = [](const PipelineDefinition& pipeline) {
    std::vector<std::string> all;
    for (const StationDefinition& station : pipeline.stations) all.push_back(station.name);
    return all;
  };
  EXPECT_EQ(names(default_pipeline()),
            (std::vector<std::string>{"intake", "plan", "implement", "verify", "create_pr"}));
  const PipelineDefinition card = card_pipeline("origin");
  EXPECT_EQ(names(card), (std::vector<std::string>{"intake", "implement", "verify", "create_pr"}));
  EXPECT_EQ(card.stations.back().remote, "origin");
  EXPECT_EQ(builtin_of(card.stations.back()), BuiltinStation::create_pr);
}

TEST(PipelineTest, NoRetriesAreNoneThatAreNamed) {  // A13
  RetryPolicy policy;
  name_max_retries(policy, 0);
  EXPECT_FALSE(policy.max_retries_named);
  name_max_retries(policy, 1);
  EXPECT_TRUE(policy.max_retries_named);
}

}  // namespace
}  // namespace signalbox
