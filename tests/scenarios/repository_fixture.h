// Fixtures for scenarios on a real repository with a remote: runs that work in it, and cards of a
// project whose board does.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {

class RepositoryTest : public CliTest {
 protected:
  using CliTest::CliTest;

  // Makes the repository, with these files on `main`, and its remote `origin`.
  void make_repository_and_remote(const std::map<std::string, std::string>& files) const {
    make_repository(repository(), files);
    set_identity(repository());
    make_remote(repository(), remote());
  }
  [[nodiscard]] std::filesystem::path repository() const { return scratch_.path() / "repository"; }
  [[nodiscard]] std::filesystem::path remote() const { return scratch_.path() / "remote.git"; }
  [[nodiscard]] std::filesystem::path workspace_of_run(const std::string& run_id) const {
    return server_.data() / "runs" / run_id / "workspace";
  }
  // Returns the text with the test's directory in place of each SCRATCH.
  [[nodiscard]] std::string with_scratch(std::string text) const {
    const std::string placeholder = "SCRATCH";
    std::size_t at = 0;
    while ((at = text.find(placeholder, at)) != std::string::npos) {
      text.replace(at, placeholder.size(), scratch_.path().string());
    }
    return text;
  }

  // Runs a shell script in the test's directory, which has to succeed. Returns its first line.
  [[nodiscard]] std::string line(const std::string& script) const {
    const Output output = shell(script);
    EXPECT_EQ(output.exit_code, 0) << script << "\n" << output.err;
    return output.out.substr(0, output.out.find('\n'));
  }
};

class CardTestOfRepository : public RepositoryTest {
 protected:
  CardTestOfRepository() : RepositoryTest(std::vector<std::string>{}) {}
  // Starts a server whose board looks every second for cards to start and to merge.
  void SetUp() override { serve_board("1s", "1s"); }
  // Starts a server whose board looks this often for cards to start, and to merge.
  void serve_board(const std::string& heartbeat, const std::string& synthesizer) {
    std::filesystem::create_directories(server_.data());
    write_text(server_.data() / "signalbox.toml", "[board]\nheartbeat = \"" + heartbeat +
                                                      "\"\nsynthesizer = \"" + synthesizer +
                                                      "\"\nprune = \"366d\"\n");
    server_.start();
  }

  // Puts the project `site`: the repository, its remote, and the pipeline with this text, in which
  // SCRATCH is the test's directory.
  void put_project(const std::string& toml) const {
    write_text(pipeline(), with_scratch(toml));
    (void)result({"project", "put", "site", "--repository", repository().string(), "--remote",
                  "origin", "--pipeline", pipeline()});
  }
  // Submits a card of the project. Returns its id.
  [[nodiscard]] std::string submit(const std::string& title) const {
    return text(result({"card", "submit", title, "--project", "site"}), "card_id");
  }
  [[nodiscard]] boost::json::object card(const std::string& id) const {
    return rpc("card.get", {{"card_id", id}}).at("card").as_object();
  }
  void unblock(const std::string& id) const {
    EXPECT_EQ(paste("signalbox card unblock " + id).exit_code, 0);
  }
  [[nodiscard]] std::size_t count_of(const std::string& type) const {
    return all_events(type).size();
  }
  void await_card(const std::string& id, const std::string& status) const {
    await([&] { return text(card(id), "status") == status; });
  }
};

}  // namespace signalbox
