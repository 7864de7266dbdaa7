// README.md, "A tour" and its chapters: what they show works when it is pasted.
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

// The first ```sh block after the heading.
std::string block_after(const std::string& readme, const std::string& title) {
  const std::size_t heading = readme.find("\n" + title + "\n");
  const std::size_t fence = readme.find("\n```sh\n", heading);
  const std::size_t end = readme.find("\n```\n", fence);
  if (heading == std::string::npos || fence == std::string::npos || end == std::string::npos) {
    return {};
  }
  return readme.substr(fence + 7, end - fence - 6);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

TEST(Readme, TheTourWorksWhenPasted) {
  const std::string tour = block_after(
      content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "README.md"), "## A tour");
  ASSERT_FALSE(tour.empty());

  const TemporaryDirectory place;
  std::filesystem::create_directory_symlink(std::filesystem::path(SIGNALBOX_BINARY).parent_path(),
                                            place.path() / "build");
  // As pasted into a shell whose directory has the build; the end waits for the server to be gone.
  std::ofstream(place.path() / "tour.sh") << "cd '" << place.path().string() << "'\n"
                                          << tour << "\nwait $server\n";
  const Output output = run_process({"bash", (place.path() / "tour.sh").string()},
                                    {"TMPDIR=" + place.path().string()});
  const std::string& text = output.out;
  EXPECT_EQ(output.exit_code, 0) << text << output.err;
  EXPECT_NE(text.find("station succeeded, run succeeded"), std::string::npos) << text;
  EXPECT_EQ(count(text, "\ndone\n"), 2u) << "the artifact's content, and once more by HTTP\n"
                                         << text << output.err;
  EXPECT_EQ(count(text, "RunStarted"), 1u) << "the key was used twice, the run is one\n" << text;

  EXPECT_TRUE(std::regex_search(text, std::regex("\ndeploying with token [0-9]+\n"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("\nreason +release 1.4\n"))) << text;

  std::smatch digest;
  ASSERT_TRUE(std::regex_search(text, digest, std::regex("state digest +([0-9a-f]{64})"))) << text;
  EXPECT_EQ(count(text, digest[1].str()), 2u) << "of the living server and of replay\n" << text;
}

TEST(Readme, WhyDoesntItMoveWorksWhenPasted) {  // S12
  const std::string chapter =
      block_after(content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "README.md"),
                  "### Why doesn't it move?");
  ASSERT_FALSE(chapter.empty());
  RealServer server;
  server.start();
  const TemporaryDirectory place;
  std::ofstream(place.path() / "why.sh") << "set -e\n" << chapter;
  const Output output = run_process(
      {"bash", (place.path() / "why.sh").string()},
      {"PATH=" + std::filesystem::path(SIGNALBOX_BINARY).parent_path().string() + ":/usr/bin:/bin",
       "SIGNALBOX_DATA=" + server.data().string()});
  const std::string& text = output.out;
  EXPECT_EQ(output.exit_code, 0) << text << output.err;
  for (const char* reason : {"\nno_worker ", "\nfailed ", "\napproval "}) {
    EXPECT_EQ(count(text, reason), 1u) << reason << "\n" << text;
  }
  EXPECT_NE(text.find("looks right"), std::string::npos) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("\nweb +implement +terminal +original +1 +1\n")))
      << text;
}

TEST(Readme, WhatHappenedLastNightWorksWhenPasted) {
  const std::string chapter =
      block_after(content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "README.md"),
                  "### What happened last night?");
  ASSERT_FALSE(chapter.empty());
  RealServer server;
  server.start();
  const TemporaryDirectory place;
  std::ofstream(place.path() / "night.sh") << "set -e\n" << chapter;
  const Output output = run_process(
      {"bash", (place.path() / "night.sh").string()},
      {"PATH=" + std::filesystem::path(SIGNALBOX_BINARY).parent_path().string() + ":/usr/bin:/bin",
       "SIGNALBOX_DATA=" + server.data().string()});
  const std::string& text = output.out;
  EXPECT_EQ(output.exit_code, 0) << text << output.err;
  for (const char* said : {"signalbox_events_total{type=\"RunFailed\"} 1", "EXIT_NONZERO",
                           "stations[0].failures", "verified: example.com/box has at 6"}) {
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
  }
  // At the moment before it the run had not failed, in the list as in the debugger.
  EXPECT_TRUE(std::regex_search(text, std::regex(" running  +implement running "))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("stations\\[0\\]\\.status +running → failed")))
      << text;
}

TEST(Readme, WhatIfWorksWhenPasted) {
  const std::string chapter = block_after(
      content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "README.md"), "### What if?");
  ASSERT_FALSE(chapter.empty());
  RealServer server;
  server.start();
  const TemporaryDirectory place;
  std::ofstream(place.path() / "chapter.sh") << "set -e\nsignalbox run start something\n"
                                             << chapter;
  const Output output = run_process(
      {"bash", (place.path() / "chapter.sh").string()},
      {"PATH=" + std::filesystem::path(SIGNALBOX_BINARY).parent_path().string() + ":/usr/bin:/bin",
       "SIGNALBOX_DATA=" + server.data().string()});
  EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
  EXPECT_TRUE(std::regex_search(output.out, std::regex("\nruns +1 +1 +1\n"))) << output.out;
}

}  // namespace
}  // namespace signalbox
