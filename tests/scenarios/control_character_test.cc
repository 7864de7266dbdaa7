// Text of clients, jobs and agents, with control characters in it: nothing that people read has
// them raw, be it a terminal, a pipe or the server's own log.
#include <gtest/gtest.h>

#include "server/text/printable_text.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// ESC, CR and BEL; CSI as a C1 control; the right-to-left override; a line separator.
constexpr const char* hostile =
    "begin \x1b[31m\x1b]0;title\x07 \r \xC2\x9b"
    "2J \xE2\x80\xAE dne \xE2\x80\xA8 next";

class ControlCharacters : public CliTest {
 protected:
  // Expects that the text has no control character but line feeds and tabs.
  static void expect_harmless(const std::string& text, const std::string& what) {
    EXPECT_TRUE(is_printable_lines(text)) << what << " prints:\n"
                                          << json::serialize(json::string(text));
  }
  // Runs the command and checks what it prints. Returns its stdout.
  std::string expect_harmless(std::vector<std::string> words) const {
    std::string what;
    for (const std::string& word : words) what += word + " ";
    const Output output = server_.cli(std::move(words));
    expect_harmless(output.out + output.err, what);
    return output.out;
  }
};

TEST_F(ControlCharacters, ATabInAnErrorIsABlank) {  // G16
  const std::string name = "web\tfine\xE2\x80\xA9";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"project", "get", name}, {"lock", "get", "--" + name}}) {
    const Output refused = server_.cli(words);
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_NE(refused.err.find("web fine"), std::string::npos) << refused.err;
    EXPECT_EQ(refused.err.find('\t'), std::string::npos) << refused.err;
    EXPECT_TRUE(is_printable_lines(refused.err)) << refused.err;
  }
}

// A request over HTTP couldn't name such an artifact, nor git such a base.
TEST_F(ControlCharacters, AreInNoNameThatIsAskedForLater) {  // P11
  const auto refused = [this](const std::string& method, const json::object& params,
                              const std::string& field) {
    const Output output = server_.cli({"rpc", method, json::serialize(params), "--json"});
    EXPECT_NE(output.exit_code, 0) << output.out;
    const json::object error = one_object(output).at("error").as_object();
    EXPECT_EQ(text(error, "message"), field + " must be one line without control characters");
  };
  const std::string run = start_run("name it");
  const std::string token = claim(run);
  for (const std::string& name : {std::string("a\r\nb"), std::string("a\0b", 3)}) {
    refused("station.complete",
            {{"run_id", run},
             {"station", "a"},
             {"token", std::stoull(token)},
             {"outcome", "succeeded"},
             {"artifacts", json::array{{{"name", name}, {"content", "x"}}}}},
            "artifacts.name");
    refused("run.start", {{"goal", "g"}, {"base", name}}, "base");
  }
}

TEST_F(ControlCharacters, OfClientsAreNowhereRaw) {  // G16
  const auto started =
      rpc("run.start", {{"goal", hostile},
                        {"labels",
                         {{"note",
                           "a\xE2\x80\xAE"
                           "b"}}},
                        {"pipeline", {{"name", "p"}, {"station", json::array{{{"name", "a"}}}}}}});
  const std::string run = text(started, "run_id");
  const std::string token = claim(run);
  EXPECT_TRUE(rpc("station.complete", {{"run_id", run},
                                       {"station", "a"},
                                       {"token", std::stoull(token)},
                                       {"outcome", "failed"},
                                       {"summary", hostile},
                                       {"error_code", "E1"},
                                       {"error_class", "terminal"},
                                       {"error_message", hostile}})
                  .contains("position"));
  await_status(run, "failed");
  EXPECT_TRUE(rpc("lock.acquire",
                  {{"key", "k\xE2\x80\xAE"}, {"owner", "o\xE2\x80\xAE"}, {"lease_ms", 60'000}})
                  .contains("position"));
  const std::string shown = expect_harmless({"run", "get", run});
  EXPECT_NE(shown.find("begin ?[31m"), std::string::npos) << shown;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "list"},
                                                {"run", "why", run},
                                                {"run", "watch", run},
                                                {"run", "trace", run},
                                                {"events"},
                                                {"lock", "list"},
                                                {"lock", "get", "k\xE2\x80\xAE"},
                                                {"diff", "--from", "1"},
                                                {"diff", "--from", "1", "--all"},
                                                {"status"}}) {
    expect_harmless(words);
  }
  // The refusal names the holder.
  expect_harmless({"lock", "acquire", "k\xE2\x80\xAE", "--owner", "other"});
  expect_harmless(server_.messages(), "the server's log");
  EXPECT_TRUE(server_.logs("?[31m")) << server_.messages();
}

TEST_F(ControlCharacters, OfJobsAreNowhereRaw) {  // G16
  const std::string run = start_run_of(R"(
name = "p"
[[station]]
name = "make"
executor = "process"
command = ["sh", "-c", 'printf "a\033[31mb\rc\302\2332J\n" | tee $SIGNALBOX_ARTIFACTS_DIR/note; printf "\033c oh\n" >&2; exit 1']
[station.retry]
max_retries = 0
)",
                                       "g");
  await_status(run, "failed");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "get", run},
                                                {"run", "why", run},
                                                {"run", "watch", run},
                                                {"events", "--run", run}}) {
    expect_harmless(words);
  }
  expect_harmless(server_.messages(), "the server's log");
  // An artifact is printed as it is for a program, and safely on a terminal.
  EXPECT_EQ(server_.cli({"run", "artifact", run, "note"}).out,
            "a\x1b[31mb\rc\xC2\x9b"
            "2J\n");
  const Output on_terminal = run_process({"script", "--quiet", "--return", "--command",
                                          std::string(SIGNALBOX_BINARY) + " run artifact " + run +
                                              " note --data " + server_.data().string(),
                                          "/dev/null"},
                                         {"TERM=xterm"});
  EXPECT_NE(on_terminal.out.find("a?[31mb c?2J"), std::string::npos) << on_terminal.out;
}

}  // namespace
}  // namespace signalbox
