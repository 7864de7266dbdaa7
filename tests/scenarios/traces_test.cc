// Traces of the real server at a real collector, across kills, and a run's trace as text.
#include <algorithm>

#include "tests/fixtures/span_collector.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

using test::SpanCollector;

constexpr const char* traced_pipeline = R"(
name = "traced"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "test $SIGNALBOX_ATTEMPT -ge 2"]
[station.retry]
max_retries = 2
backoff = "10ms"
strategies = ["original", "simplified"]
)";

class TracesTest : public CliTest {
 protected:
  void SetUp() override { std::ofstream(pipeline()) << traced_pipeline; }
  void configure() {
    std::filesystem::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml")
        << "[traces]\nendpoint = \"" << collector_.url() << "\"\n";
  }
  std::size_t spans_of(const std::string& run) {
    std::string trace = run;
    trace.erase(std::remove(trace.begin(), trace.end(), '-'), trace.end());
    std::size_t count = 0;
    for (const auto& [id, texts] : collector_.spans()) count += id.first == trace ? 1 : 0;
    return count;
  }

  SpanCollector collector_;
};

// The server is killed while it sends, again and again, to a collector that fails now and then. All
// spans of all runs arrive, and those that arrive twice are equal byte by byte.
TEST_F(TracesTest, EverySpanArrivesOverKills) {  // R7
  configure();
  std::vector<std::string> runs;
  for (int life = 0; life < 4; ++life) {
    // Each life but the last is killed while it holds spans that the collector refused.
    if (life < 3) {
      collector_.fail_next({.method = "POST", .status = 503, .retry_after_s = 300});
    } else {
      collector_.fail_next({.method = "POST", .take_effect = true, .cut = true});
      collector_.fail_next({.method = "POST", .status = 503});
    }
    const int before = collector_.requests("POST");
    server_.start();
    for (int each = 0; each < 5; ++each) runs.push_back(start_run("traced"));
    for (const std::string& run : runs) await_status(run, "succeeded");
    if (life < 3) {
      await([&] { return collector_.requests("POST") > before; });
      server_.kill();
    }
  }
  for (const std::string& run : runs) {
    await([&] { return spans_of(run) >= 3; });
    if (HasFatalFailure()) return;
    EXPECT_EQ(spans_of(run), 3U) << "the run, and two attempts";
  }
  for (const auto& [id, texts] : collector_.spans()) EXPECT_EQ(texts.size(), 1U) << id.second;
  EXPECT_GE(collector_.received(), runs.size() * 3);

  // The command line gives the same spans that were sent.
  const auto otlp = result({"run", "trace", runs[0], "--otlp"}).at("otlp");
  const auto& made = otlp.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array();
  ASSERT_EQ(made.size(), 3U);
  const auto sent = collector_.spans();
  for (const auto& span : made) {
    const auto place = sent.find(
        {std::string(span.at("traceId").as_string()), std::string(span.at("spanId").as_string())});
    ASSERT_NE(place, sent.end());
    EXPECT_EQ(*place->second.begin(), boost::json::serialize(span));
  }
  EXPECT_EQ(server_.stop(), 0);
}

TEST_F(TracesTest, ARunIsShownAsAWaterfall) {  // R7
  server_.start();
  const std::string run = start_run("shown");
  await_status(run, "succeeded");
  const Output shown = server_.cli({"run", "trace", run});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* part : {"run traced", "  implement #1", "  implement #2 simplified", "█",
                           "failed: EXIT_NONZERO", "succeeded"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  }
  const Output otlp = server_.cli({"run", "trace", run, "--otlp"});
  EXPECT_TRUE(boost::json::parse(otlp.out).as_object().contains("resourceSpans"));
  // As of its middle, the run's first attempt is under way.
  const auto claimed = events(run, "StationClaimed").at(0).as_object();
  const auto then =
      result({"run", "trace", run, "--at", boost::json::serialize(claimed.at("position"))});
  EXPECT_EQ(then.at("spans").as_array().size(), 2U);
  for (const auto& span : then.at("spans").as_array()) {
    EXPECT_FALSE(span.as_object().contains("ended_at"));
  }
  const Output unknown = server_.cli({"run", "trace", "0190f3c4-5b6a-7c8d-9e0f-123456789abc"});
  EXPECT_EQ(unknown.exit_code, 1);
}

TEST_F(TracesTest, AWrongSettingIsNamed) {
  const auto refused = [&](const std::string& table) {
    std::filesystem::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml") << "[traces]\n" << table;
    const Output output = server_.cli({"serve"});
    EXPECT_EQ(output.exit_code, 78) << table;
    return output.err;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refused("endpoint = \"collector:4318\"\n"), "traces.endpoint must be a URL");
  has(refused("endpoints = \"x\"\n"), "there is no setting traces.endpoints");
  has(refused("backfill = \"soon\"\n"), "traces.backfill must be a duration");
  const auto headers = server_.data() / "traces.headers";
  std::ofstream(headers) << "Authorization: Bearer abc\n";
  std::filesystem::permissions(headers, std::filesystem::perms(0644));
  const std::string table = "headers_file = \"traces.headers\"\nendpoint = ";
  has(refused(table + "\"https://collector.example.org/v1/traces\"\n"), "chmod 600");
  std::filesystem::permissions(headers, std::filesystem::perms(0600));
  has(refused(table + "\"http://collector.example.org/v1/traces\"\n"), "in clear");
  std::ofstream(headers) << "no header\n";
  const std::string error = refused(table + "\"https://collector.example.org/v1/traces\"\n");
  has(error, "traces.headers:1 is not a header");
  EXPECT_EQ(error.find("no header\n"), std::string::npos) << "a secret may be in it";
}

// Otherwise every batch would fail for ever, and nobody would notice.
TEST_F(TracesTest, ACertificateAuthorityThatIsNoneIsNamed) {
  std::filesystem::create_directories(server_.data());
  const auto configure = [&](const std::string& authority) {
    std::ofstream(server_.data() / "signalbox.toml")
        << "[traces]\nendpoint = \"https://127.0.0.1:1/v1/traces\"\n"
        << "certificate_authority = \"" << authority << "\"\n";
  };
  const auto refused = [&](const char* authority, const std::string& why) {
    configure(authority);
    const Output output = server_.cli({"serve"});
    EXPECT_EQ(output.exit_code, 78) << output.err;
    const std::string path = (server_.data() / authority).string();
    EXPECT_NE(output.err.find("traces.certificate_authority: " + path + why), std::string::npos)
        << output.err;
    EXPECT_NE(output.err.find("name a file with the collector's authority in PEM"),
              std::string::npos)
        << output.err;
  };
  refused("missing.pem", " can't be opened: No such file or directory");
  std::filesystem::create_directory(server_.data() / "directory.pem");
  refused("directory.pem", "");
  std::ofstream(server_.data() / "empty.pem") << "";
  refused("empty.pem", " has no certificate");
  const std::string made = (server_.data() / "made.pem").string();
  const std::string key = (server_.data() / "key.pem").string();
  ASSERT_EQ(run_process({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                         "/CN=authority", "-keyout", key, "-out", made})
                .exit_code,
            0);
  refused("key.pem", " has no certificate");
  const std::string whole = content_of(made);
  std::ofstream(server_.data() / "torn.pem") << whole.substr(0, whole.size() / 2);
  refused("torn.pem", " has no certificate");
  configure("made.pem");
  server_.start();
  EXPECT_EQ(server_.stop(), 0);
}

}  // namespace
}  // namespace signalbox
