// Every method of methods.json is a command, a query that can be asked about the past, or a query
// that is listed here, because its answer doesn't follow from the log. A new query that takes no
// `at` fails, until it has a row and its reason in PROTOCOL.md.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <boost/json/parse.hpp>

#include "server/rpc/methods/openrpc.h"
#include "server/transport/http/route.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using Names = std::set<std::string>;

// What isn't in the log: the connection, the process, the disk and the repositories as they are
// now. Or the answer is about a part of the log that the params name.
const Names queries_of_the_present{
    "audit.checkpoint", "audit.records", "audit.tile", "cell.get",   "events.subscribe",
    "loop.plan_files",  "project.check", "run.diff",   "run.log",    "server.authenticate",
    "server.metrics",   "server.whoami", "state.diff", "what_if.run"};

// GET routes without a method, which show nothing of the log.
const Names routes_of_the_present{"/",
                                  "/console/",
                                  "/console/{digest}/{file}",
                                  "/healthz",
                                  "/readyz",
                                  "/version",
                                  "/openapi.json",
                                  "/openrpc.json"};

class PastQueries : public testing::Test, protected RpcSite {
 protected:
  [[nodiscard]] const Method* find(std::string_view name) const {
    for (const Method& method : dispatcher.methods()) {
      if (method.name == name) return &method;
    }
    return nullptr;
  }
  [[nodiscard]] static Names described_methods() {
    const json::value texts = json::parse({method_texts().data(), method_texts().size()});
    Names names;
    for (const auto& each : texts.at("methods").as_object()) names.emplace(each.key());
    return names;
  }
};

TEST_F(PastQueries, EachMethodIsACommandOrTakesAMomentOrSaysWhyNot) {  // P9
  Names of_the_present;
  std::size_t of_the_past = 0;
  for (const std::string& name : described_methods()) {
    const Method* const method = find(name);
    ASSERT_NE(method, nullptr) << name;
    if (needs_writer(*method)) {
      EXPECT_FALSE(answers_about_past(*method)) << name;
      EXPECT_EQ(shown_of_present(*method), "") << name;
      continue;
    }
    if (answers_about_past(*method)) {
      ++of_the_past;
      EXPECT_FALSE(queries_of_the_present.contains(name)) << name;
      continue;
    }
    of_the_present.insert(name);
    EXPECT_NE(shown_of_present(*method), "") << name << " says nothing of why it takes no `at`";
  }
  EXPECT_EQ(of_the_present, queries_of_the_present);
  EXPECT_GT(of_the_past, 30U);
}

TEST_F(PastQueries, TheProtocolSaysWhatThoseOfThePresentShow) {  // P9
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/server/PROTOCOL.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string whole = text.str();
  const std::size_t begin = whole.find("\n## The past\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string chapter = whole.substr(begin, whole.find("\n## ", begin + 1) - begin);
  const std::regex row(R"(\| `([a-z_]+\.[a-z_]+)` \| ([^|]+) \|)");
  std::map<std::string, std::string> documented;
  for (std::sregex_iterator each(chapter.begin(), chapter.end(), row), end; each != end; ++each) {
    documented.emplace((*each)[1], (*each)[2]);
  }
  std::map<std::string, std::string> listed;
  for (const Method& method : dispatcher.methods()) {
    const std::string_view shown = shown_of_present(method);
    if (!shown.empty()) listed.emplace(std::string(method.name), std::string(shown));
  }
  EXPECT_EQ(documented, listed);
}

// Those with a method take what it takes (HttpOpenapi.HasTheParamsOfTheMethods).
TEST_F(PastQueries, OnlyRoutesWithoutAnythingOfTheLogHaveNoMethod) {  // P9
  Names found;
  for (const Route& route : routes()) {
    if (route.verb == "GET" && route.method.empty()) found.emplace(route.path);
  }
  EXPECT_EQ(found, routes_of_the_present);
}

}  // namespace
}  // namespace signalbox
