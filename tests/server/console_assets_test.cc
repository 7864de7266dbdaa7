// The console's page and files as they are served: whole, compressed on request, kept by browsers,
// and without anything that another site could use.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/project.h"
#include "server/transport/http/console_assets.h"
#include "store/sha256.h"
#include "tests/server/gunzip.h"
#include "tests/server/http_site.h"

namespace signalbox {
namespace {

std::string address_of(const ConsoleAsset& asset) {
  return "/console/" + std::string(console_digest()) + "/" + std::string(asset.name);
}

// Returns whether `loaded` is the line `source`, but for a comment with types at its beginning.
bool is_line_of(const std::string& loaded, const std::string& source) {
  if (loaded == source) return true;
  const std::size_t begin = source.find_first_not_of(' ');
  const std::size_t end = source.find("*/");
  return begin != std::string::npos && source.compare(begin, 3, "/**") == 0 &&
         end != std::string::npos && loaded == source.substr(0, begin) + source.substr(end + 2);
}

TEST(ConsoleAssets, AreTheFilesOfTheTree) {
  std::size_t modules = 0;
  for (const ConsoleAsset& asset : console_assets()) {
    std::ifstream file(std::string(SIGNALBOX_SOURCE_DIR "/server/console/") +
                       std::string(asset.name));
    std::istringstream lines{std::string(asset.content)};
    std::string loaded;
    std::string source;
    while (std::getline(file, source)) {
      ASSERT_TRUE(std::getline(lines, loaded)) << asset.name;
      EXPECT_TRUE(is_line_of(loaded, source)) << asset.name << ": " << source << "\n" << loaded;
    }
    EXPECT_FALSE(std::getline(lines, loaded)) << asset.name;
    EXPECT_EQ(to_hex(sha256(asset.content)), asset.sha256) << asset.name;
    EXPECT_EQ(gunzip(asset.gzip, asset.content.size()), asset.content) << asset.name;
    modules += asset.name.ends_with(".js") ? 1 : 0;
  }
  EXPECT_GT(modules, 20U);
  EXPECT_EQ(console_index().content.find("@DIGEST@"), std::string_view::npos);
}

TEST(ConsoleAssets, HaveATextForEachReasonToHoldAProject) {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/server/console/pages/projects.js");
  std::ostringstream page;
  page << file.rdbuf();
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<PolicyHold>>([&](auto each) {
    const bool is_shown = page.str().find(std::string(each.name) + ": '") != std::string::npos;
    EXPECT_EQ(is_shown, each.value != PolicyHold::none) << each.name;
  });
}

// The modules of the start are asked for at once: all that they import, and no others.
TEST(ConsoleAssets, ThePageNamesTheModulesOfTheStart) {  // C6
  std::set<std::string> named;
  std::set<std::string> imported{"app.js"};
  for (const ConsoleAsset& asset : console_assets()) {
    const std::string name(asset.name);
    if (!name.ends_with(".js") ||
        console_index().content.find("/" + name + '"') == std::string_view::npos) {
      continue;
    }
    named.insert(name);
    std::istringstream lines{std::string(asset.content)};
    for (std::string line; std::getline(lines, line);) {
      const std::size_t begin = line.find("'.");
      if (!line.starts_with("import ") || begin == std::string::npos) continue;
      const std::string path = line.substr(begin + 1, line.find('\'', begin + 1) - begin - 1);
      imported.insert(
          (std::filesystem::path(name).parent_path() / path).lexically_normal().string());
    }
  }
  EXPECT_EQ(named, imported);
}

// It stays until the service has said who asks, so the first modules show the same.
TEST(ConsoleAssets, ThePageShowsSomethingBeforeItsModulesAreThere) {  // C6
  const std::string_view shown = "<p class=\"loading\">Signalbox …</p>";
  EXPECT_NE(console_index().content.find(shown), std::string_view::npos);
  const auto app = std::ranges::find(console_assets(), "app.js", &ConsoleAsset::name);
  ASSERT_NE(app, console_assets().end());
  EXPECT_NE(app->content.find(shown), std::string_view::npos);
}

// What the page names is loaded before it shows more than that.
TEST(ConsoleAssets, AreSmallWhenTheyAreCompressed) {
  const std::string_view page = console_index().content;
  std::size_t all_bytes = console_index().gzip.size();
  std::size_t first_bytes = all_bytes;
  for (const ConsoleAsset& asset : console_assets()) {
    all_bytes += asset.gzip.size();
    const std::string named = "/" + std::string(asset.name) + '"';
    if (page.find(named) != std::string_view::npos) first_bytes += asset.gzip.size();
  }
  EXPECT_LE(first_bytes, 60U * 1024);
  EXPECT_LE(all_bytes, 150U * 1024);
  EXPECT_GT(all_bytes, first_bytes);
}

TEST(ConsoleServing, ThePageIsAskedForEachTimeAndItsFilesAreKept) {
  HttpSite site;
  HttpClient http = site.client();
  const HttpReply page = http.get("/console/?page=runs");
  EXPECT_EQ(page.status, 200U);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("Cache-Control"), "no-cache");
  EXPECT_EQ(page.body(), console_index().content);
  for (const ConsoleAsset& asset : console_assets()) {
    const HttpReply file = http.get(address_of(asset));
    EXPECT_EQ(file.status, 200U) << asset.name;
    EXPECT_EQ(file.body(), asset.content) << asset.name;
    EXPECT_EQ(file.header("Content-Type"), asset.media_type);
    EXPECT_NE(file.header("Cache-Control").find("immutable"), std::string::npos);
    const HttpReply same = http.get(address_of(asset), {{"If-None-Match", file.header("ETag")}});
    EXPECT_EQ(same.status, 304U) << asset.name;
    EXPECT_EQ(same.body(), "");
  }
  EXPECT_EQ(http.get("/console/0123456789abcdef/app.js").status, 404U) << "of another version";
  EXPECT_EQ(http.get("/console/" + std::string(console_digest()) + "/no.js").status, 404U);
  EXPECT_EQ(http.get("/console/" + std::string(console_digest()) + "/app.js/").status, 400U);
}

TEST(ConsoleServing, IsCompressedForWhoTakesIt) {
  HttpSite site;
  HttpClient http = site.client();
  const ConsoleAsset& asset = console_assets().front();
  for (const char* accepts : {"gzip", "br, GZIP;q=0.5", "deflate, gzip;q=1", "*"}) {
    const HttpReply file = http.get(address_of(asset), {{"Accept-Encoding", accepts}});
    EXPECT_EQ(file.header("Content-Encoding"), "gzip") << accepts;
    EXPECT_EQ(file.body(), asset.gzip) << accepts;
  }
  for (const char* accepts :
       {"identity", "gzip;q=0", "br", "gzip;q=0.000", "gzip;q=0.5, identity"}) {
    const HttpReply file = http.get(address_of(asset), {{"Accept-Encoding", accepts}});
    EXPECT_EQ(file.header("Content-Encoding"), "") << accepts;
    EXPECT_EQ(file.body(), asset.content) << accepts;
  }
}

TEST(ConsoleServing, LetsNothingElseIn) {
  HttpSite site;
  HttpClient http = site.client();
  const HttpReply page = http.get("/console/");
  const std::string policy = page.header("Content-Security-Policy");
  for (const char* directive : {"default-src 'none'", "script-src 'self'", "connect-src 'self'",
                                "frame-ancestors 'none'", "require-trusted-types-for 'script'"}) {
    EXPECT_NE(policy.find(directive), std::string::npos) << directive;
  }
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(page.header("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(page.header("Cross-Origin-Opener-Policy"), "same-origin");
  EXPECT_EQ(page.header("Set-Cookie"), "");
}

TEST(ConsoleServing, ALinkOnAnotherSiteLeadsToThePageAndToNothingElse) {
  HttpSite site;
  HttpClient http = site.client();
  const HttpHeaders visit{{"Sec-Fetch-Site", "cross-site"},
                          {"Sec-Fetch-Mode", "navigate"},
                          {"Sec-Fetch-Dest", "document"}};
  EXPECT_EQ(http.get("/console/", visit).status, 200U);
  EXPECT_EQ(http.get("/console", visit).header("Location"), "console/");
  EXPECT_EQ(http.get("/v1/runs", visit).status, 403U);
  EXPECT_EQ(http.get(address_of(console_assets().front()), visit).status, 403U);
  HttpHeaders frame = visit;
  frame.back().second = "iframe";
  EXPECT_EQ(http.get("/console/", frame).status, 403U);
  EXPECT_EQ(http.post("/console/", "{}", visit).status, 403U);
}

TEST(ConsoleServing, TheFrontLeadsABrowserThere) {
  HttpSite site;
  HttpClient http = site.client();
  const HttpReply browser = http.get("/", {{"Accept", "text/html,application/xhtml+xml"}});
  EXPECT_EQ(browser.status, 302U);
  EXPECT_EQ(browser.header("Location"), "console/");
  EXPECT_EQ(http.get("/").status, 404U);
  EXPECT_EQ(http.get("/", {{"Accept", "*/*"}}).status, 404U);
}

}  // namespace
}  // namespace signalbox
