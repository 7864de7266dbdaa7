// What becomes of a run's worktree when the data directory was moved.
#include <regex>

#include "server/git/pinned_repository.h"
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Replaces each `from` in a file.
void replace_in(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = content_of(file);
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  write_text(file, text);
}

TEST_F(WorkOfAnAgent, GoesOnInADataDirectoryThatWasMoved) {  // A1
  const fs::path hooks = repository / ".git/hooks";
  fs::create_directories(hooks);
  write_text(hooks / "pre-commit",
             "#!/bin/sh\necho checked >from-hook.txt\ngit add from-hook.txt\n");
  fs::permissions(hooks / "pre-commit", fs::perms::owner_all);
  const Job intake = begun();
  write_text(workspace_of(intake) / "new.txt", "new\n");
  // As if all of this had been somewhere else until now.
  const std::string here = site.root().string();
  const fs::path pins = site.root() / "workspaces" / to_string(intake.run_id);
  const fs::path record = *recorded_directory(workspace_of(intake));
  replace_in(pins / "workspace.json", (pins / "hooks").string(),
             "/former" + (pins / "hooks").string());
  replace_in(record / "gitdir", here, "/former" + here);

  const JobResult refused = end_of(next(intake, "create_pr"));
  EXPECT_EQ(refused.failure.code, "WORKSPACE_TAMPERED") << refused.failure.message;
  std::smatch command;
  const std::string message = refused.failure.message;
  ASSERT_TRUE(std::regex_search(message, command, std::regex("run `(git [^`]*)`"))) << message;
  ASSERT_EQ(::system(command[1].str().c_str()), 0) << command[1];
  const JobResult result = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":new.txt", repository), "new");
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":from-hook.txt", repository), "checked");
}

}  // namespace
}  // namespace signalbox
