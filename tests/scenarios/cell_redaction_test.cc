// A text that is erased in a cell: at each of its servers and in its database, whenever one of them
// is killed or away (BEHAVIOURS, chapter K).
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Random characters, so that compression doesn't hide it.
constexpr const char* text_to_erase = "w3Kd9sVbQ1xT7mZr5NcYh2LfJg8PaEu6oRiB4tWq";

class CellRedactionTest : public CellTest {
 protected:
  // Starts a run with the text in its goal. Returns the position of its record.
  std::uint64_t start_run_with_text() {
    run_id_ = start_run(std::string("use the key ") + text_to_erase, "with the text");
    (void)start_run("another", "another");
    std::uint64_t position = 0;
    EXPECT_TRUE(eventually([&] {
      const json::object read = a_.rpc("events.read", {{"from", 1}, {"limit", 1000}});
      if (!read.contains("events")) return false;
      for (const json::value& each : read.at("events").as_array()) {
        if (json::serialize(each).find(text_to_erase) == std::string::npos) continue;
        position = each.at("position").to_number<std::uint64_t>();
      }
      return position != 0;
    }));
    return position;
  }
  [[nodiscard]] static Output redact_at(const CellPeer& peer, std::uint64_t position,
                                        const std::string& id) {
    return peer.ask(
        {"rpc", "log.redact",
         json::serialize(json::object{
             {"position", position}, {"reason", "a key in the goal"}, {"command_id", id}})});
  }
  [[nodiscard]] static json::object redact(const CellPeer& peer, std::uint64_t position) {
    const Output output = redact_at(peer, position, "redact");
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    if (output.exit_code != 0) return {};
    return json::parse(output.out).at("result").as_object();
  }
  // Returns the files of the server's log, and of what is derived from it, with the text. The
  // server may remove files meanwhile.
  [[nodiscard]] static std::string files_with_text(CellPeer& peer) {
    std::string found;
    for (const char* folder : {"log", "projections"}) {
      std::error_code failed;
      auto each = fs::recursive_directory_iterator(peer.server().data() / folder, failed);
      for (; !failed && each != fs::recursive_directory_iterator(); each.increment(failed)) {
        std::error_code unknown;
        if (!each->is_regular_file(unknown)) continue;
        if (content_of(each->path()).find(text_to_erase) != std::string::npos) {
          found += each->path().string() + "\n";
        }
      }
    }
    return found;
  }
  [[nodiscard]] std::string rows_with_text() const {
    return nodes_.query(std::string("select count(*) from sb_entry where position('") +
                        text_to_erase + "'::bytea in bytes) > 0");
  }
  static void expect_erased(CellPeer& peer) {
    EXPECT_TRUE(eventually([&] { return files_with_text(peer).empty(); }))
        << files_with_text(peer) << peer.server().messages();
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"rpc", "events.read", R"({"from":1,"limit":1000})"}, {"run", "list"}}) {
      EXPECT_EQ(peer.ask(words).out.find(text_to_erase), std::string::npos) << peer.name();
    }
  }
  static void expect_nothing_due(CellPeer& peer) {
    EXPECT_TRUE(eventually([&] {
      const json::object cell = peer.rpc("cell.get");
      return cell.contains("redactions_due") && cell.at("redactions_due").as_array().empty();
    })) << json::serialize(peer.rpc("cell.get"));
  }
  // Stops the servers and expects that each of them verifies, with the same log.
  static void expect_same(const std::vector<CellPeer*>& peers) {
    std::vector<std::string> states;
    for (CellPeer* peer : peers) EXPECT_EQ(peer->server().stop(), 0) << peer->server().messages();
    std::string position;
    for (CellPeer* peer : peers) {
      const Output verified = peer->server().cli({"replay", "--verify", "--json"});
      ASSERT_EQ(verified.exit_code, 0) << peer->name() << verified.out << verified.err;
      if (position.empty()) {
        position = json::serialize(json::parse(verified.out).at("result").at("position"));
      }
      const Output then = peer->server().cli({"replay", "--to", position, "--json"});
      ASSERT_EQ(then.exit_code, 0) << peer->name() << then.out << then.err;
      states.push_back(text_at(json::parse(then.out).at("result").as_object(), "state_digest"));
    }
    for (const std::string& each : states) EXPECT_EQ(each, states.front());
  }

  std::string run_id_;
};

TEST_F(CellRedactionTest, ATextLeavesEachServerAndTheDatabase) {  // K7
  start_both();
  const std::uint64_t position = start_run_with_text();
  await_position(b_, position);
  EXPECT_NE(files_with_text(a_), "");
  EXPECT_NE(files_with_text(b_), "");
  EXPECT_EQ(rows_with_text(), "1");
  EXPECT_EQ(code_of(redact_at(b_, position, "at a standby")), "NOT_ACTIVE");
  const json::object done = redact(a_, position);
  EXPECT_TRUE(done.at("redacted").as_bool()) << json::serialize(done);
  EXPECT_FALSE(done.contains("unerased_servers")) << json::serialize(done);
  EXPECT_FALSE(done.contains("shared_log_error")) << json::serialize(done);
  EXPECT_FALSE(done.contains("files_error")) << json::serialize(done);
  EXPECT_EQ(files_with_text(a_), "");
  EXPECT_EQ(files_with_text(b_), "");
  EXPECT_EQ(rows_with_text(), "0");
  for (CellPeer* peer : {&a_, &b_}) {
    expect_erased(*peer);
    expect_nothing_due(*peer);
  }
  // What is exported at either is whole, and work goes on.
  const std::string key = (scratch_.path() / "audit.key").string();
  const Output made = run_process(
      {SIGNALBOX_BINARY, "audit", "keygen", "-o", key, "--name", "example.com/box", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  const std::string verifier =
      text_at(json::parse(made.out).at("result").as_object(), "verifier_key");
  for (CellPeer* peer : {&a_, &b_}) {
    const std::string to = (scratch_.path() / ("export-" + peer->name())).string();
    const Output exported =
        peer->server().cli({"audit", "export", "--signing-key", key, "-o", to, "--json"});
    EXPECT_EQ(exported.exit_code, 0) << exported.out << exported.err;
    const Output verified =
        run_process({SIGNALBOX_BINARY, "audit", "verify", to, "--key", verifier});
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  }
  const std::string later = start_run("later", "later");
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "b"}).exit_code == 0; }));
  await_role(b_, "active");
  EXPECT_EQ(status_of(later), "queued");
  await_role(a_, "standby");
  await_position(a_, position);
  expect_same({&a_, &b_});
}

// One that was away has the text until it is back; it follows from rows that haven't the text any
// more, and one that begins with a seed from before does the same.
TEST_F(CellRedactionTest, AServerThatWasAwayErasesItWhenItIsBack) {  // K7
  CellPeer c("c", nodes_.url());
  start_both();
  const std::uint64_t position = start_run_with_text();
  await_position(b_, position);
  seed(b_, c);
  EXPECT_NE(files_with_text(c), "");
  EXPECT_EQ(b_.server().stop(), 0);
  const json::object done = redact(a_, position);
  ASSERT_TRUE(done.contains("unerased_servers")) << json::serialize(done);
  EXPECT_EQ(done.at("unerased_servers"), (json::array{"b"}));
  EXPECT_EQ(rows_with_text(), "0");
  EXPECT_NE(files_with_text(b_), "");
  const auto redacted_at = done.at("redaction_position").to_number<std::uint64_t>();
  EXPECT_TRUE(eventually([&] {
    const json::array servers = a_.rpc("cell.get").at("servers").as_array();
    return std::any_of(servers.begin(), servers.end(), [&](const json::value& each) {
      return text_at(each.as_object(), "server") == "a" &&
             each.at("erased_through").to_number<std::uint64_t>() >= redacted_at;
    });
  }));
  for (CellPeer* peer : {&b_, &c}) {
    peer->server().start();
    // From its first answer on it shows nothing of it.
    const Output first = peer->ask({"rpc", "events.read", R"({"from":1,"limit":1000})"});
    EXPECT_EQ(first.exit_code, 0) << first.out << first.err;
    EXPECT_EQ(first.out.find(text_to_erase), std::string::npos);
    await_role(*peer, "standby");
    await_position(*peer, redacted_at);
    expect_erased(*peer);
    expect_nothing_due(*peer);
  }
  expect_same({&c, &b_, &a_});
}

TEST_F(CellRedactionTest, IsFinishedWhoeverIsKilled) {  // K7
  start_both();
  const std::uint64_t position = start_run_with_text();
  await_position(b_, position);
  // The standby is paused, so that the command waits for it; then the active one is killed.
  const std::uint64_t before = a_.rpc("cell.get").at("position").to_number<std::uint64_t>();
  b_.pause();
  std::thread command([&] { (void)redact_at(a_, position, "redact"); });
  EXPECT_TRUE(eventually([&] {
    const json::object cell = a_.rpc("cell.get");
    return cell.contains("position") && cell.at("position").to_number<std::uint64_t>() > before;
  }));
  a_.server().kill();
  command.join();
  b_.go_on();
  await_role(b_, "active");
  expect_erased(b_);
  EXPECT_TRUE(eventually([&] { return rows_with_text() == "0"; }));
  expect_nothing_due(b_);
  b_.server().kill();
  a_.server().start();
  await_role(a_, "active");
  expect_erased(a_);
  b_.server().start();
  await_role(b_, "standby");
  expect_erased(b_);
  expect_nothing_due(a_);
  expect_nothing_due(b_);
  await_position(b_, position);
  expect_same({&b_, &a_});
}

TEST_F(CellRedactionTest, ACellOfAnEarlierVersionHasToBeUpgraded) {  // K7
  start_both();
  const std::uint64_t position = start_run_with_text();
  for (CellPeer* peer : {&b_, &a_}) EXPECT_EQ(peer->server().stop(), 0);
  (void)nodes_.query("update sb_cell set feature_level = 2");
  (void)nodes_.query("alter table sb_replica drop column erased_through");
  start_both();
  const Output refused = redact_at(a_, position, "too early");
  EXPECT_EQ(code_of(refused), "CELL_UPGRADE_NEEDED") << refused.out;
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "upgrade"}).exit_code == 0; }));
  EXPECT_TRUE(redact(a_, position).at("redacted").as_bool());
  EXPECT_EQ(rows_with_text(), "0");
  expect_erased(b_);
}

// With a retention, which is due only when the test wants it.
class CellKeptRedactionTest : public CellRedactionTest {
 protected:
  CellKeptRedactionTest() {
    const std::string key = at("audit.key");
    const Output made = run_process(
        {SIGNALBOX_BINARY, "audit", "keygen", "-o", key, "--name", "example.com/box", "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.out << made.err;
    verifier_key_ = text_at(json::parse(made.out).at("result").as_object(), "verifier_key");
    for (const CellPeer* peer : {&a_, &b_}) {
      peer->add_settings("[retention]\nolder_than = \"1s\"\nfailed_runs = \"1s\"\narchive = \"" +
                         at("archive") + "\"\nkey = \"" + key + "\"\nschedule = \"0 0 29 2 *\"\n");
    }
  }
  [[nodiscard]] std::string at(const std::string& name) const {
    return (scratch_.path() / name).string();
  }
  // Starts both servers, and a run with the text that goes on, and lets others become old enough to
  // go. Returns the position of the record with the text.
  std::uint64_t start_with_history() {
    start_both();
    (void)result({"audit", "adopt", verifier_key_});
    const std::uint64_t position = start_run_with_text();
    end_runs("old");
    return position;
  }
  void end_runs(const std::string& goal) const {
    for (int count = 0; count < 3; ++count) {
      (void)result({"run", "cancel", start_run(goal, goal + std::to_string(count))});
    }
    // By the clock that judges it: the servers are on this machine.
    using Clock = std::chrono::system_clock;
    const auto old_at = Clock::now() + std::chrono::milliseconds(1'001);
    EXPECT_TRUE(eventually([&] { return Clock::now() > old_at; }));
  }
  // Returns up to which position the server has dropped records; 0 if none, or if it doesn't
  // answer.
  [[nodiscard]] static std::uint64_t horizon_of(const CellPeer& peer) {
    const auto answer = peer.answer("events.read", {{"from", 1}, {"limit", 1}});
    if (!answer || test::error_code_of(*answer) != "HISTORY_DROPPED") return 0;
    return answer->at("error").at("data").at("details").at("horizon").to_number<std::uint64_t>();
  }
  void drop_at(CellPeer& active) const {
    const std::uint64_t before = horizon_of(active);
    (void)result({"loop", "trigger", "retention"});
    EXPECT_TRUE(eventually([&] { return horizon_of(active) > before; }))
        << active.server().messages();
  }
  // Repeats it while the retention still rewrites files.
  [[nodiscard]] static Output redact_after_drop(const CellPeer& peer, std::uint64_t position) {
    Output output;
    EXPECT_TRUE(eventually([&] {
      output = redact_at(peer, position, "redact");
      return output.out.find("\"OVERLOADED\"") == std::string::npos;
    }));
    return output;
  }
  // Expects the text in nothing that the server shows, and in no file of it.
  void expect_gone(CellPeer& peer) {
    EXPECT_TRUE(eventually([&] { return files_with_text(peer).empty(); }))
        << files_with_text(peer) << peer.server().messages();
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"run", "get", run_id_}, {"run", "list"}, {"run", "trace", run_id_}}) {
      const Output shown = peer.ask(words);
      EXPECT_EQ(shown.exit_code, 0) << shown.out << shown.err;
      EXPECT_EQ(shown.out.find(text_to_erase), std::string::npos) << peer.name();
    }
  }
  void expect_exports_verify(CellPeer& peer) const {
    const std::string to = at("export-" + peer.name());
    const Output exported = peer.server().cli(
        {"audit", "export", "--signing-key", at("audit.key"), "-o", to, "--json"});
    EXPECT_EQ(exported.exit_code, 0) << exported.out << exported.err;
    const Output verified =
        run_process({SIGNALBOX_BINARY, "audit", "verify", to, "--key", verifier_key_});
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  }

  std::string verifier_key_;
};

TEST_F(CellKeptRedactionTest, ATextThatARetentionKeptLeavesEachServer) {  // K7
  const std::uint64_t position = start_with_history();
  drop_at(a_);
  EXPECT_TRUE(eventually([&] { return horizon_of(b_) == horizon_of(a_); }));
  const Output redacted = redact_after_drop(a_, position);
  ASSERT_EQ(redacted.exit_code, 0) << redacted.out << redacted.err;
  const json::object done = json::parse(redacted.out).at("result").as_object();
  EXPECT_TRUE(done.at("redacted").as_bool()) << json::serialize(done);
  EXPECT_FALSE(done.contains("unerased_servers")) << json::serialize(done);
  EXPECT_EQ(rows_with_text(), "0");
  for (CellPeer* peer : {&a_, &b_}) {
    expect_gone(*peer);
    expect_nothing_due(*peer);
    expect_exports_verify(*peer);
  }
  // Both go on from there: the other one with the next drop.
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "b"}).exit_code == 0; }));
  await_role(b_, "active");
  await_role(a_, "standby");
  end_runs("newer");
  drop_at(b_);
  EXPECT_TRUE(eventually([&] { return horizon_of(a_) == horizon_of(b_); }))
      << a_.server().messages();
  EXPECT_EQ(status_of(run_id_), "queued");
  expect_same({&a_, &b_});
}

// The standby is away during the retention and the redaction, and the active one is killed in the
// middle of the latter.
TEST_F(CellKeptRedactionTest, IsFinishedByWhoeverComesBack) {  // K7
  const std::uint64_t position = start_with_history();
  await_position(b_, position);
  EXPECT_EQ(b_.server().stop(), 0);
  drop_at(a_);
  const json::object later{{"from", horizon_of(a_) + 1}, {"limit", 1000}};
  std::thread command([&] { (void)redact_after_drop(a_, position); });
  EXPECT_TRUE(eventually([&] {
    const auto answer = a_.answer("events.read", later);
    return answer && json::serialize(*answer).find("PayloadRedacted") != std::string::npos;
  }));
  a_.server().kill();
  command.join();
  a_.server().start();
  await_role(a_, "active");
  expect_gone(a_);
  EXPECT_TRUE(eventually([&] { return rows_with_text() == "0"; })) << a_.server().messages();
  EXPECT_NE(files_with_text(b_), "");
  b_.server().start();
  await_role(b_, "standby");
  expect_gone(b_);
  EXPECT_TRUE(eventually([&] { return horizon_of(b_) == horizon_of(a_); }))
      << b_.server().messages();
  for (CellPeer* peer : {&a_, &b_}) {
    expect_nothing_due(*peer);
    expect_exports_verify(*peer);
  }
  expect_same({&b_, &a_});
}

}  // namespace
}  // namespace signalbox
