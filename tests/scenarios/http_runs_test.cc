// Runs over HTTP against the real server: S1, S2, and the routes as their clients see them.
#include <gtest/gtest.h>

#include <set>

#include "store/sha256.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/lock_fixture.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns a body that starts a run with one station for an outside worker, so that the run waits.
std::string waiting_run(const std::string& goal) {
  return R"({"goal":")" + goal +
         R"(","labels":{"team":"a b&c"},"pipeline":{"name":"p","station":[{"name":"only"}]}})";
}

class HttpRuns : public ::testing::Test {
 protected:
  void SetUp() override { server_.start(); }
  HttpClient client() { return HttpClient(server_.socket()); }
  std::string start(const std::string& body, const HttpHeaders& headers = {}) {
    const HttpReply reply = client().post("/v1/runs", body, headers);
    EXPECT_EQ(reply.status, 202U) << reply.body();
    return std::string(reply.json().at("run_id").as_string());
  }
  json::object run(const std::string& id) {
    return client().get("/v1/runs/" + id).json().at("run").as_object();
  }
  // Starts a run whose one station runs this command, and blocks until it ends. Returns its id.
  std::string finished(const std::string& command) {
    const json::object body{
        {"goal", "leave files"},
        {"pipeline",
         {{"name", "p"},
          {"station",
           {{{"name", "make"}, {"executor", "process"}, {"command", {"sh", "-c", command}}}}}}}};
    const std::string id = start(json::serialize(body));
    EXPECT_TRUE(eventually([&] { return run(id).at("status") == "succeeded"; }))
        << json::serialize(run(id));
    return id;
  }

  RealServer server_{{"--watchdog-interval", "1h"}};
};

TEST_F(HttpRuns, S1AcceptsARunAndShowsItsTimeline) {  // S1
  HttpClient client(server_.socket());
  const HttpReply reply = client.post("/v1/runs", waiting_run("g"), {{"Idempotency-Key", "k"}});
  ASSERT_EQ(reply.status, 202U) << reply.body();
  const std::string id(reply.json().at("run_id").as_string());
  EXPECT_EQ(reply.header("Location"), "/v1/runs/" + id);
  EXPECT_EQ(reply.json().at("replayed"), false);
  EXPECT_EQ(reply.json().at("status"), "queued");

  const Output claim = server_.cli({"station", "claim", "--worker", "w", "--json"});
  ASSERT_EQ(claim.exit_code, 0) << claim.err;
  const HttpReply shown = client.get(reply.header("Location"));
  ASSERT_EQ(shown.status, 200U);
  const json::object run = shown.json().at("run").as_object();
  EXPECT_EQ(run.at("run_id").as_string(), id);
  EXPECT_EQ(run.at("goal"), "g");
  const json::object attempt = run.at("stations").at(0).at("attempts").at(0).as_object();
  EXPECT_EQ(attempt.at("worker"), "w");
  EXPECT_EQ(attempt.at("span_id").as_string().size(), 36U);
  EXPECT_TRUE(attempt.at("artifacts").is_array());
  // The socket and the command line give the same object.
  const Output cli = server_.cli({"run", "get", id, "--json"});
  EXPECT_EQ(json::parse(cli.out).at("result").at("run"), json::value(run));
}

TEST_F(HttpRuns, S2TheSameKeyIsTheSameRunAlsoAfterAKill) {  // S2
  const std::string first = start(waiting_run("g"), {{"Idempotency-Key", "k"}});
  const auto again = [&](const HttpHeaders& headers, const std::string& body) {
    return client().post("/v1/runs", body, headers);
  };
  for (int life = 0; life < 2; ++life) {
    const HttpReply same = again({{"Idempotency-Key", "k"}}, waiting_run("g"));
    EXPECT_EQ(same.status, 202U);
    EXPECT_EQ(same.json().at("run_id").as_string(), first);
    EXPECT_EQ(same.json().at("replayed"), true);
    EXPECT_EQ(same.header("Location"), "/v1/runs/" + first);
    const HttpReply other = again({{"Idempotency-Key", "k"}}, waiting_run("other"));
    EXPECT_EQ(other.status, 409U);
    EXPECT_EQ(other.code(), "IDEMPOTENCY_CONFLICT");
    EXPECT_EQ(other.json().at("details").at("run_id").as_string(), first);
    // Clients of the socket and of HTTP share one set of keys.
    const Output line =
        server_.cli({"rpc", "run.start",
                     R"({"goal":"g","idempotency_key":"k","labels":{"team":"a b&c"},)"
                     R"("pipeline":{"name":"p","station":[{"name":"only"}]}})"});
    EXPECT_NE(line.out.find("\"replayed\": true"), std::string::npos) << line.out << line.err;
    server_.kill();
    server_.start();
  }
  EXPECT_EQ(client().get("/v1/runs").json().at("runs").as_array().size(), 1U);
}

TEST_F(HttpRuns, TheOutputOfAJobIsReadByRange) {  // O2
  const std::string id = finished("echo hello; echo oops >&2");
  const HttpReply part = client().get("/v1/runs/" + id + "/log?offset=1&bytes=3");
  ASSERT_EQ(part.status, 200U) << part.body();
  EXPECT_EQ(part.json().at("text"), "ell");
  EXPECT_EQ(part.json().at("end"), 6);
  EXPECT_EQ(client().get("/v1/runs/" + id + "/log?stream=stderr").json().at("text"), "oops\n");
  const HttpReply none = client().get("/v1/runs/" + id + "/diff");
  EXPECT_EQ(none.status, 404U);
  EXPECT_EQ(none.code(), "ARTIFACT_NOT_FOUND");
}

TEST_F(HttpRuns, TheOutputOfAJobIsReadAsBytesWhileItGrows) {  // O2
  const TemporaryDirectory scratch;
  const std::string go = (scratch.path() / "go").string();
  const json::object body{
      {"goal", "print"},
      {"pipeline",
       {{"name", "p"},
        {"station",
         {{{"name", "print"},
           {"executor", "process"},
           {"command",
            {"sh", "-c",
             "printf 'a\\377b\\n'; while [ -d '" + scratch.path().string() + "' ] && [ ! -e '" +
                 go + "' ]; do sleep 0.02; done; echo more; echo oops >&2"}}}}}}}};
  const std::string id = start(json::serialize(body));
  const std::string path = "/v1/runs/" + id + "/output";
  const std::string first =
      "a\xff"
      "b\n";
  HttpClient client(server_.socket());
  ASSERT_TRUE(eventually([&] { return client.get(path).body() == first; }));
  const HttpReply so_far = client.get(path);
  EXPECT_EQ(so_far.header("Content-Type"), "text/plain; charset=utf-8");
  const std::string tag = so_far.header("ETag");
  EXPECT_EQ(client.get(path, {{"If-None-Match", tag}}).status, 304U);
  const HttpReply none_yet = client.get(path, {{"Range", "bytes=4-"}});
  EXPECT_EQ(none_yet.status, 416U);
  EXPECT_EQ(none_yet.header("Content-Range"), "bytes */4");

  std::ofstream(go).put('\n');
  ASSERT_TRUE(eventually([&] { return run(id).at("status") == "succeeded"; }));
  const HttpReply more = client.get(path, {{"Range", "bytes=4-"}});
  EXPECT_EQ(more.status, 206U);
  EXPECT_EQ(more.header("Content-Range"), "bytes 4-8/9");
  EXPECT_EQ(more.body(), "more\n");
  EXPECT_EQ(client.get(path, {{"Range", "bytes=4-"}, {"If-Range", tag}}).body(), first + "more\n");
  EXPECT_EQ(client.get(path + "?stream=stderr&station=print&attempt=1").body(), "oops\n");
  const HttpReply head = client.ask("HEAD", path);
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.header("Content-Length"), "9");

  EXPECT_EQ(client.get(path + "?offset=1").status, 422U) << "the header says it";
  EXPECT_EQ(client.get(path + "?stream=stdin").status, 422U);
  EXPECT_EQ(client.get(path + "?station=other").status, 404U);
  EXPECT_EQ(client.get("/v1/runs/00000000-0000-0000-0000-000000000001/output").code(),
            "RUN_NOT_FOUND");
}

TEST_F(HttpRuns, ListsPageByPageAlongTheLinks) {
  std::set<std::string> started;
  for (int number = 0; number < 7; ++number) {
    started.insert(start(waiting_run("g" + std::to_string(number))));
  }
  start(R"({"goal":"another"})");
  HttpClient client(server_.socket());
  std::set<std::string> seen;
  std::string target = "/v1/runs?limit=3&label=team%3Da%20b%26c";
  int pages = 0;
  while (!target.empty()) {
    const HttpReply reply = client.get(target);
    ASSERT_EQ(reply.status, 200U) << target << reply.body();
    const json::object page = reply.json();
    for (const json::value& run : page.at("runs").as_array()) {
      EXPECT_TRUE(seen.insert(std::string(run.at("run_id").as_string())).second);
    }
    const std::string link = reply.header("Link");
    EXPECT_EQ(link.empty(), page.at("next_cursor").is_null());
    const std::size_t end = link.find(">; rel=\"next\"");
    target = link.empty() ? "" : link.substr(1, end - 1);
    ASSERT_LT(++pages, 10);
  }
  EXPECT_EQ(seen, started);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(client.get("/v1/runs?status=nothing").status, 422U);
  EXPECT_EQ(client.get("/v1/runs?token=x").code(), "INVALID_PARAMS");
}

TEST_F(HttpRuns, AKeyThatIsThereTwiceIsRefused) {
  HttpClient client = this->client();
  for (const char* second : {"a", "b"}) {
    const HttpReply reply = client.post("/v1/runs", waiting_run("g"),
                                        {{"Idempotency-Key", "a"}, {"idempotency-key", second}});
    EXPECT_EQ(reply.status, 400U);
    EXPECT_EQ(reply.code(), "INVALID_REQUEST");
  }
  EXPECT_TRUE(client.get("/v1/runs").json().at("runs").as_array().empty());
}

TEST_F(HttpRuns, ADecisionIsAboutTheStationAndTheQuestionThatItNames) {  // G10
  HttpClient client = this->client();
  const std::string body =
      R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"one","executor":"approval"},)"
      R"({"name":"two","executor":"approval"}]}})";
  const std::string path = client.post("/v1/runs", body).header("Location");
  const std::string seen_one = R"({"decision":"approve","station":"one"})";
  EXPECT_EQ(client.post(path + "/resume", seen_one).status, 200U);
  const HttpReply refused = client.post(path + "/resume", seen_one);
  EXPECT_EQ(refused.status, 409U);
  EXPECT_EQ(refused.code(), "NOT_WAITING_FOR_APPROVAL");
  EXPECT_EQ(refused.json().at("details").at("station"), "two");
  const auto present = refused.json().at("details").at("asked").to_number<std::uint64_t>();
  const auto about = [](std::uint64_t asked) {
    return R"({"decision":"approve","asked":)" + std::to_string(asked) + "}";
  };
  EXPECT_EQ(client.post(path + "/resume", about(present - 1)).code(), "NOT_WAITING_FOR_APPROVAL");
  EXPECT_EQ(client.post(path + "/resume", about(present)).status, 200U);
}

TEST_F(HttpRuns, PausesResumesAndCancelsOnce) {
  const std::string id = start(waiting_run("g"));
  const std::string path = "/v1/runs/" + id;
  HttpClient client(server_.socket());
  EXPECT_EQ(client.post(path + "/pause", R"({"reason":"lunch"})").json().at("changed"), true);
  EXPECT_EQ(run(id).at("status"), "paused");
  EXPECT_EQ(client.post(path + "/resume", "").json().at("changed"), true);
  const HttpReply canceled = client.post(path + "/cancel", "{}", {{"Idempotency-Key", "c1"}});
  EXPECT_EQ(canceled.status, 200U) << canceled.body();
  EXPECT_EQ(run(id).at("status"), "canceled");
  // The same command again gets the first answer; another one comes too late.
  EXPECT_EQ(client.post(path + "/cancel", "{}", {{"Idempotency-Key", "c1"}}).json().at("replayed"),
            true);
  const HttpReply late = client.post(path + "/pause", "{}");
  EXPECT_EQ(late.status, 409U);
  EXPECT_EQ(late.code(), "RUN_TERMINAL");
  const std::string nobody = "/v1/runs/00000000-0000-7000-8000-000000000000";
  EXPECT_EQ(client.get(nobody).status, 404U);
  EXPECT_EQ(client.get(nobody).code(), "RUN_NOT_FOUND");
  EXPECT_EQ(client.get("/v1/runs/x").status, 422U);
}

TEST_F(HttpRuns, GivesArtifactsAsTheyWereLeft) {
  const std::string id = finished(
      "mkdir $SIGNALBOX_ARTIFACTS_DIR/d && printf 'hello\\n' > \"$SIGNALBOX_ARTIFACTS_DIR/d/a "
      "b.txt\""
      " && head -c 3000000 /dev/urandom > $SIGNALBOX_ARTIFACTS_DIR/large.bin"
      " && printf '<script>' > $SIGNALBOX_ARTIFACTS_DIR/page.html"
      " && : > $SIGNALBOX_ARTIFACTS_DIR/empty");
  HttpClient client(server_.socket());
  const std::string path = "/v1/runs/" + id + "/artifacts";
  const HttpReply list = client.get(path);
  ASSERT_EQ(list.status, 200U);
  int found = 0;
  const json::object listed = list.json();
  for (const json::value& artifact : listed.at("artifacts").as_array()) {
    const HttpReply content = client.get(std::string(artifact.at("href").as_string()));
    EXPECT_EQ(content.status, 200U) << json::serialize(artifact);
    EXPECT_EQ(to_hex(sha256(content.body())), artifact.at("sha256").as_string());
    EXPECT_EQ(content.header("ETag"), "\"" + std::string(artifact.at("sha256").as_string()) + "\"");
    EXPECT_EQ(content.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(content.header("Content-Type"), artifact.at("media_type").as_string());
    EXPECT_TRUE(content.header("Content-Disposition").starts_with("attachment"));
    EXPECT_EQ(artifact.at("current"), true);
    ++found;
  }
  EXPECT_GE(found, 4);
  EXPECT_EQ(client.get(path + "/empty").body(), "");
  for (const char* name : {"/d/a%20b.txt", "/d%2Fa%20b.txt"}) {
    EXPECT_EQ(client.get(path + name).body(), "hello\n") << name;
  }
  const HttpReply missing = client.get(path + "/nothing");
  EXPECT_EQ(missing.status, 404U);
  EXPECT_EQ(missing.code(), "ARTIFACT_NOT_FOUND");
}

TEST_F(HttpRuns, GivesPartsOfArtifactsAndNothingTwice) {
  const std::string id = finished("printf 'abcdefghij' > \"$SIGNALBOX_ARTIFACTS_DIR/letters\"");
  HttpClient client(server_.socket());
  const std::string path = "/v1/runs/" + id + "/artifacts/letters";
  const HttpReply whole = client.get(path);
  const std::string etag = whole.header("ETag");
  const HttpReply part = client.get(path, {{"Range", "bytes=2-4"}});
  EXPECT_EQ(part.status, 206U);
  EXPECT_EQ(part.body(), "cde");
  EXPECT_EQ(part.header("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(client.get(path, {{"Range", "bytes=-3"}}).body(), "hij");
  const HttpReply beyond = client.get(path, {{"Range", "bytes=10-"}});
  EXPECT_EQ(beyond.status, 416U);
  EXPECT_EQ(beyond.header("Content-Range"), "bytes */10");
  EXPECT_EQ(client.get(path, {{"Range", "bytes=0-1"}, {"If-Range", "\"old\""}}).status, 200U);
  EXPECT_EQ(client.get(path, {{"Range", "bytes=0-1"}, {"If-Range", etag}}).status, 206U);
  const HttpReply known = client.get(path, {{"If-None-Match", etag}});
  EXPECT_EQ(known.status, 304U);
  EXPECT_EQ(known.body(), "");
  for (const char* name : {"ETag", "Cache-Control", "Content-Disposition"}) {
    EXPECT_EQ(known.header(name), whole.header(name)) << name;
  }
  const HttpReply head = client.ask("HEAD", path);
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.header("Content-Length"), "10");
  EXPECT_EQ(client.get(path).body(), "abcdefghij") << "the connection goes on";
}

TEST_F(HttpRuns, ServesNothingOfADamagedArtifact) {
  const std::string id =
      finished("head -c 1000000 /dev/urandom > \"$SIGNALBOX_ARTIFACTS_DIR/large\"");
  HttpClient client(server_.socket());
  const std::string path = "/v1/runs/" + id + "/artifacts/large";
  const std::string hex = [&] {
    const std::string etag = client.get(path).header("ETag");
    return etag.substr(1, etag.size() - 2);
  }();
  const auto file = server_.data() / "artifacts" / "sha256" / hex.substr(0, 2) / hex.substr(2);
  {
    std::fstream blob(file, std::ios::in | std::ios::out | std::ios::binary);
    blob.seekp(999'999);
    const int last = blob.peek();
    blob.seekp(999'999);
    blob.put(static_cast<char>(last ^ 1));
  }
  const HttpReply damaged = client.get(path);
  EXPECT_EQ(damaged.status, 500U);
  EXPECT_EQ(damaged.code(), "STORAGE_DAMAGED");
  EXPECT_EQ(client.get(path, {{"Range", "bytes=0-9"}}).status, 500U);
  std::filesystem::resize_file(file, 10);
  EXPECT_EQ(client.get(path).code(), "STORAGE_DAMAGED");
  std::filesystem::remove(file);
  const HttpReply missing = client.get(path);
  EXPECT_EQ(missing.status, 404U);
  EXPECT_EQ(missing.code(), "ARTIFACT_NOT_FOUND");
  EXPECT_NE(missing.body().find("bring it from a backup"), std::string::npos) << missing.body();
}

TEST_F(HttpRuns, RpcIsTheWholeInterface) {
  HttpClient client(server_.socket());
  const HttpReply answer =
      client.post("/rpc", R"({"jsonrpc":"2.0","id":"a","method":"lock.acquire",)"
                          R"("params":{"key":"k","owner":"o"}})");
  EXPECT_EQ(answer.status, 200U);
  EXPECT_EQ(answer.json().at("id"), "a");
  EXPECT_EQ(answer.json().at("result").at("owner"), "o");
  const HttpReply refused = client.post("/rpc", R"({"jsonrpc":"2.0","id":2,"method":"no.such"})");
  EXPECT_EQ(refused.status, 200U) << "the answer arrived; it is a refusal";
  EXPECT_EQ(refused.json().at("error").at("data").at("code"), "METHOD_NOT_FOUND");
  EXPECT_EQ(client.post("/rpc", R"({"jsonrpc":"2.0","method":"run.list"})").status, 204U);
  EXPECT_EQ(client.post("/rpc", "[]").json().at("error").at("code"), -32600);
  EXPECT_EQ(client.post("/rpc", "").json().at("error").at("code"), -32700);
  const HttpReply events =
      client.post("/rpc", R"({"jsonrpc":"2.0","id":3,"method":"events.subscribe"})");
  EXPECT_EQ(events.json().at("error").at("data").at("code"), "INVALID_REQUEST");
  EXPECT_EQ(client.get("/healthz").status, 200U);
}

}  // namespace
}  // namespace signalbox
