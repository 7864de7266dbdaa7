// Tests how much of agents' logs one subscriber gets: a bound for each second, and nothing for
// whoever hasn't read what there is.
#include "server/rpc/agent_logs.h"

#include <deque>
#include <filesystem>

#include "server/executors/bounded_log.h"
#include "server/limits.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/principals_site.h"

namespace signalbox {
namespace {

class AgentLogsTest : public PrincipalsSite {
 protected:
  AgentLogsTest() {
    run = start_job();
    const std::filesystem::path job = jobs.path() / job_id_of(run);
    std::filesystem::create_directories(job);
    output.emplace(BoundedLog::create(job / "stdout.log").value());
    logs.subscribe(subscriber, "subscription", parse_uuid(run));
  }
  // Makes the agent print an excerpt of the greatest size, polls, and returns how many excerpts the
  // subscriber has been sent in all, of which `unread_bytes` are left.
  std::size_t sent_after_another(std::size_t unread_bytes) {
    output->append(std::string(limits::agent_log_excerpt_bytes_max - 1, 'x') + "\n");
    subscriber->outgoing = unread_bytes;
    const auto poll = std::move(polls.front());
    polls.pop_front();
    poll();
    return subscriber->delivered.size();
  }

  TemporaryDirectory jobs;
  std::string run;
  std::optional<BoundedLog> output;
  std::shared_ptr<ListeningPeer> subscriber = std::make_shared<ListeningPeer>();
  std::deque<std::function<void()>> polls;
  AgentLogs logs{{engine, clock, jobs.path(), [] { return std::vector<RunId>(); }, at_once, at_once,
                  [this](std::function<void()> poll) { polls.push_back(std::move(poll)); }}};
};

TEST_F(AgentLogsTest, ASubscriberGetsSoMuchInASecond) {  // H10, P8
  constexpr std::size_t excerpts_max =
      limits::agent_log_subscriber_bytes_per_second_max / limits::agent_log_excerpt_bytes_max;
  for (std::size_t sent = 1; sent <= excerpts_max; ++sent) EXPECT_EQ(sent_after_another(0), sent);
  EXPECT_EQ(sent_after_another(0), excerpts_max) << "one beyond the limit is left out";
  clock.advance_ms(1000);
  EXPECT_EQ(sent_after_another(0), excerpts_max + 1);
}

TEST_F(AgentLogsTest, ASubscriberWhoDoesNotReadGetsNoFurtherOutput) {  // H10, P8
  EXPECT_EQ(sent_after_another(limits::agent_log_outgoing_bytes_max), 1U);
  EXPECT_EQ(sent_after_another(limits::agent_log_outgoing_bytes_max + 1), 1U);
  EXPECT_EQ(sent_after_another(0), 2U) << "what comes after it has read";
}

}  // namespace
}  // namespace signalbox
