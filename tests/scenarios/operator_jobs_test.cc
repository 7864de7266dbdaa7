// What an operator does most often, each in one command and without copying an id: ten commands on
// a terminal of 80 columns with what they print, in operator_jobs.txt.
//
// What differs each time is normalized: ids, times, spans, positions, and the widths of columns
// that depend on them. SIGNALBOX_REWRITE_TRANSCRIPTS=1 writes the file anew; read the difference
// before you keep it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

const std::filesystem::path operator_jobs_file =
    std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/scenarios/operator_jobs.txt";

constexpr const char* pipeline_of_hours = R"(
name = "slow"
[[station]]
name = "index"
executor = "process"
command = ["sleep", "600"]
)";

// Fails at the first attempt.
constexpr const char* pipeline_that_fails_once = R"(
name = "fails"
[[station]]
name = "test"
executor = "process"
command = ["sh", "-c", "test -f $SIGNALBOX_RUN_ROOT/again && exit 0; touch $SIGNALBOX_RUN_ROOT/again; echo 'FAIL upload_test: timeout' >&2; exit 1"]
retry = { max_retries = 0 }
)";

constexpr const char* pipeline_that_asks = R"(
name = "change"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "echo 'the option is --dry-run' >>README.md; echo 'read README.md'; echo 'edited README.md'"]
[[station]]
name = "review"
executor = "approval"
)";

// Replaces what differs each time.
std::string without_what_differs(std::string text) {
  const std::vector<std::pair<const char*, const char*>> rules = {
      {"\r|\b|\\^D", ""},
      {"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID"},
      {"\\b[0-9a-f]{8}\\b", "TAIL"},
      {"(\\d{4}-\\d\\d-\\d\\d )?\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d(:\\d\\d)?)", "TIME"},
      {"\\b\\d+(\\.\\d+)?(ms|s|m|h)( \\d+(ms|s|m))?( ago)?\\b", "SPAN"},
      {"(  |\\()now(  |\\))", "$1SPAN$2"},
      {"--(from|to|asked) \\d+", "--$1 N"},
      {"exit code[ \\d]*\u2026", "exit code\u2026"},  // cut by a column whose width differs
      {"\\b\\d+ (events|bytes)", "N $1"},
      {"uid:\\d+", "uid:N"},
      {"batch-\\d+-\\d+", "BATCH"},
      {" {2,}", "  "}};
  for (const auto& [pattern, replacement] : rules) {
    text = std::regex_replace(text, std::regex(pattern), replacement);
  }
  return text;
}

// Removes what the terminal echoes of the answer "a", which comes sooner or later, and the empty
// lines around it.
std::string without_echo(const std::string& text) {
  const std::string answered = "[q]uit? a";
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    while (line.ends_with(' ') && !line.ends_with("? ")) line.pop_back();
    if (line == "a") continue;
    if (line.empty() && (out.empty() || out.ends_with("\n\n"))) continue;
    if (line.ends_with(answered)) {
      line.pop_back();
      out += line;
    } else {
      out += line + "\n";
    }
  }
  return out;
}

class OperatorJobs : public RepositoryTest {
 protected:
  // Runs the command on a terminal, on which this is typed, and adds it with its output.
  void add_job(const std::string& title, const std::string& words, const std::string& typed = "") {
    const std::string input = (scratch_.path() / "typed").string();
    write_text(input, typed);
    const Output shown =
        shell("script -qec \"stty cols 80; " SIGNALBOX_BINARY " " + words + "\" /dev/null <'" +
                  input + "'",
              {"TERM=xterm", "NO_COLOR=1", "SIGNALBOX_DATA=" + server_.data().string()});
    std::istringstream lines(shown.out);
    for (std::string line; std::getline(lines, line);) {
      const auto columns = std::count_if(line.begin(), line.end(), [](char each) {
        return each != '\r' && (each & 0xC0) != 0x80;
      });
      EXPECT_LE(columns, 80) << words << ": " << line;
    }
    played_ += "# " + title + "\n$ signalbox " + words + "\n" +
               without_echo(without_what_differs(shown.out)) + "exit " +
               std::to_string(shown.exit_code) + "\n\n";
  }

  // Waits until the run has a job, which its cancel has to end first.
  void await_job(const std::string& run_id) const {
    await([&] { return !events(run_id, "StationSubmitIntended").empty(); });
  }

  std::string played_;
};

TEST_F(OperatorJobs, TakeOneCommandEachAndNoId) {  // O1, O2, O3, O6
  make_repository_and_remote({{"README.md", "a project\n"}});
  await_job(start_run_of(pipeline_of_hours, "index the archive"));
  await_status(start_run_of(pipeline_that_fails_once, "mend the upload"), "failed");
  (void)start_run_of(pipeline_that_asks, "rename the option",
                     {"--repository", repository().string()});
  await([&] {
    const auto waiting = rpc("attention.list", {{"kinds", boost::json::array{"approval"}}});
    return !waiting.at("items").as_array().empty();
  });

  add_job("What waits for me?", "inbox");
  add_job("What happened last night?", "report --since 8h");
  add_job("What failed?", "run list --status failed --since 8h");
  add_job("Why doesn't it go on?", "run why last");
  add_job("What did it change?", "run diff last");
  add_job("What did it print?", "run logs last --grep edited");
  add_job("Decide what waits.", "run approve", "a\n");
  add_job("Try again what failed.", "run retry --all --status failed --since 8h --yes");
  const std::string stopped = start_run_of(pipeline_of_hours, "clean the cache");
  await_job(stopped);
  add_job("Stop the one that I have just started.", "run cancel last --reason 'not today'");
  add_job("Stop everything for a while.", "pause --all --reason maintenance");

  if (std::getenv("SIGNALBOX_REWRITE_TRANSCRIPTS") != nullptr) {
    std::ofstream(operator_jobs_file) << played_;
  }
  EXPECT_EQ(played_, content_of(operator_jobs_file));

  // Jobs outlive their server.
  (void)result({"resume", "--all"});
  await_status(stopped, "canceled");  // or it may end between the list and its turn
  (void)result({"run", "cancel", "--all", "--yes"});
  await([&] {
    const auto open = rpc("run.list", {{"status", "queued,running,paused"}});
    return open.at("runs").as_array().empty();
  });
}

}  // namespace
}  // namespace signalbox
