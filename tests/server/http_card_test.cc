// Tests that the priority of a card is set over HTTP.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "tests/fixtures/git_repository.h"
#include "tests/server/http_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST(HttpCard, ItsPriorityIsSetOnceForAKey) {  // O2, O5
  const TemporaryDirectory root;
  const std::string repository = make_repository(root.path() / "site").string();
  HttpSite site;
  HttpClient http = site.client();
  const std::string project = json::serialize(json::object{{"repository", repository}});
  ASSERT_EQ(http.ask("PUT", "/v1/projects/web", {}, project).status, 200U);
  const HttpReply submitted = http.post(
      "/rpc",
      R"({"jsonrpc":"2.0","id":1,"method":"card.submit","params":{"project":"web","title":"t","immediate":false}})");
  const std::string id(submitted.json().at("result").at("card_id").as_string());
  const std::string path = "/v1/cards/" + id + "/priority";
  const auto set = [&](std::int64_t priority, const HttpHeaders& headers = {}) {
    return http.ask("POST", path, headers,
                    R"({"priority":)" + std::to_string(priority) + R"(,"reason":"soon"})");
  };

  const HttpHeaders key{{"Idempotency-Key", "k"}};
  const HttpReply changed = set(5, key);
  ASSERT_EQ(changed.status, 200U) << changed.body();
  EXPECT_EQ(changed.json().at("card_id"), json::value(id));
  EXPECT_EQ(changed.json().at("priority"), 5);
  EXPECT_EQ(changed.json().at("changed"), true);
  EXPECT_EQ(set(5, key).json().at("replayed"), true);
  EXPECT_EQ(set(6, key).status, 409U) << "another command of the same key";
  EXPECT_EQ(set(5).json().at("changed"), false);

  EXPECT_EQ(set(-limits::card_priority_max).status, 200U);
  EXPECT_EQ(set(limits::card_priority_max + 1).status, 422U);
  EXPECT_EQ(http.ask("POST", path, {}, "{}").status, 422U);
  EXPECT_EQ(http.get(path).header("Allow"), "POST, OPTIONS");
  const HttpReply none = http.ask("POST", "/v1/cards/00000000-0000-7000-8000-000000000000/priority",
                                  {}, R"({"priority":1})");
  EXPECT_EQ(none.status, 404U);
  EXPECT_EQ(none.code(), "CARD_NOT_FOUND");
}

}  // namespace
}  // namespace signalbox
