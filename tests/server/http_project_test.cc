// Tests that a project which is put over HTTP is answered with what its cards will miss.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "tests/fixtures/git_repository.h"
#include "tests/server/http_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST(HttpProject, IsAnsweredWithWhatIsMissing) {  // O8
  const TemporaryDirectory root;
  const std::string site_root = make_repository(root.path() / "site").string();
  HttpSite site;
  const json::array missing{json::object{{"code", "no_remote"},
                                         {"text", "it has none"},
                                         {"next_commands", json::array{"git remote"}}}};
  site.on_thread([&] {
    site.rpc.check_project = [missing](const Project& project) {
      EXPECT_EQ(project.name, "my site");
      return json::object{{"warnings", missing}, {"not_checked", json::array{"no_checks"}}};
    };
    return 0;
  });
  HttpClient http = site.client();
  const std::string body = json::serialize(json::object{{"repository", site_root}});
  const HttpHeaders key{{"Idempotency-Key", "k"}};
  const HttpReply put = http.ask("PUT", "/v1/projects/my%20site", key, body);
  ASSERT_EQ(put.status, 200U) << put.body();
  EXPECT_EQ(put.json().at("name"), "my site");
  EXPECT_EQ(put.json().at("changed"), true);
  EXPECT_EQ(put.json().at("warnings"), missing);
  EXPECT_EQ(put.json().at("not_checked"), json::array{"no_checks"});
  const HttpReply again = http.ask("PUT", "/v1/projects/my%20site", key, body);
  EXPECT_EQ(again.json().at("replayed"), true) << again.body();
  EXPECT_EQ(again.json().at("warnings"), missing);
  EXPECT_EQ(http.ask("PUT", "/v1/projects/my%20site", {}, body).json().at("changed"), false);
  EXPECT_EQ(http.get("/healthz").status, 200U) << "the connection goes on";
}

TEST(HttpProject, ARefusalOfItIsOne) {
  HttpSite site;
  HttpClient http = site.client();
  EXPECT_EQ(http.ask("OPTIONS", "/v1/projects/web").header("Allow"), "PUT, OPTIONS");
  EXPECT_EQ(http.get("/v1/projects/web").header("Allow"), "PUT, OPTIONS");
  const HttpReply refused =
      http.ask("PUT", "/v1/projects/web", {}, R"({"repository":"/nowhere/web"})");
  EXPECT_EQ(refused.status, 422U);
  EXPECT_EQ(refused.code(), "INVALID_PARAMS");
  EXPECT_EQ(http.ask("PUT", "/v1/projects/web", {}, R"({"name":"a","repository":"/"})").status,
            422U);
  EXPECT_EQ(http.ask("PUT", "/v1/projects/web", {{"Content-Type", "text/plain"}}, "{}").status,
            415U);
}

}  // namespace
}  // namespace signalbox
