// Tests which answers are compressed for which clients, and what they are then.
#include "server/transport/http/content_coding.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <random>
#include <utility>

#include "tests/eventually.h"
#include "tests/server/gunzip.h"
#include "tests/server/http_site.h"

namespace signalbox {
namespace {

TEST(ContentCoding, GzipIsTakenWhereItIsAsWelcomeAsPlainContent) {
  for (const char* list :
       {"gzip", "GZip", "x-gzip", "br, gzip", "gzip;q=0.001", "gzip; q=1.000", "*", "*;q=0.5",
        "deflate;q=1, gzip;q=0.5", "gzip, identity", "gzip;q=1, identity;q=0.5", "identity;q=0, *",
        "gzip;level=9", "gzip;q=0.5;x=1, identity;q=0.5"}) {
    EXPECT_TRUE(accepts_gzip(list)) << list;
  }
  for (const char* list : {"",
                           "identity",
                           "br",
                           "gzip;q=0",
                           "gzip;q=0.0",
                           "gzip;q=0.000",
                           "gzip;Q=0",
                           "*;q=0",
                           "gzip;q=0, *",
                           "gzip;q=0.5, identity",
                           "gzip;q=0.5, *",
                           "gzip, gzip;q=0",
                           "gzipped",
                           "gzip;q=2",
                           "gzip;q=1.001",
                           "gzip;q=0.0001",
                           "gzip;q=-1",
                           "gzip;q=nan",
                           "gzip;q=",
                           "gzip;q",
                           ";q=1",
                           ",,,",
                           "\"gzip\""}) {
    EXPECT_FALSE(accepts_gzip(list)) << list;
  }
}

TEST(ContentCoding, OnlyJsonThatIsntSmallIsCompressible) {
  HttpAnswer answer;
  answer.media_type = "application/json";
  answer.body = std::string(plain_json_bytes_max, ' ');
  EXPECT_FALSE(is_compressible(answer));
  answer.body += ' ';
  EXPECT_TRUE(is_compressible(answer));
  answer.media_type = "application/problem+json";
  EXPECT_TRUE(is_compressible(answer));
  answer.headers.emplace_back("Content-Encoding", "gzip");
  EXPECT_FALSE(is_compressible(answer)) << "it is already";
  answer.headers = {{"ETag", "\"1\""}};
  EXPECT_FALSE(is_compressible(answer)) << "other bytes need another tag";
  answer.headers.clear();
  for (const char* other : {"text/event-stream", "application/octet-stream", ""}) {
    answer.media_type = other;
    EXPECT_FALSE(is_compressible(answer)) << other;
  }
}

TEST(ContentCoding, WhatIsPackedIsTheSameUnpacked) {
  std::string text;
  for (int row = 0; text.size() < 300'000; ++row) {
    text += R"({"run_id":")" + std::to_string(row * 7919) + R"(","goal":"mend it"},)";
    if (row % 500 != 0) continue;
    const auto packed = gzip_text(text);
    if (!packed) continue;  // the first few bytes
    EXPECT_LT(packed->size(), text.size());
    EXPECT_EQ(gunzip(*packed, text.size()), text);
  }
  EXPECT_LT(gzip_text(text)->size() * 3, text.size());
}

TEST(ContentCoding, WhatDoesntGetSmallerStaysAsItIs) {
  std::mt19937 random(7);
  std::string noise(100'000, '\0');
  for (char& each : noise) each = static_cast<char>(random());
  EXPECT_EQ(gzip_text(noise), std::nullopt);
  EXPECT_EQ(gzip_text(""), std::nullopt);
  EXPECT_EQ(gzip_text("x"), std::nullopt);
}

HttpReply coded_reply(HttpClient& http, const std::string& verb, const std::string& target,
                      const HttpHeaders& headers) {
  http.send(http.text(verb, target, headers));
  return http.reply(verb == "HEAD");
}

TEST(CompressedAnswers, AreSentToWhoAsksForThem) {  // O5
  HttpSite site;
  HttpClient http = site.client();
  const std::string plain = http.get("/openapi.json").body();
  for (const HttpHeaders& headers :
       {HttpHeaders{{"Accept-Encoding", "gzip, br"}},
        HttpHeaders{{"Accept-Encoding", "br"}, {"Accept-Encoding", "gzip;q=0.1"}}}) {
    const HttpReply packed = coded_reply(http, "GET", "/openapi.json", headers);
    EXPECT_EQ(packed.status, 200U);
    EXPECT_EQ(packed.header("Content-Type"), "application/json");
    EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
    EXPECT_EQ(packed.header("Vary"), "Accept-Encoding");
    EXPECT_EQ(packed.header("Content-Length"), std::to_string(packed.body().size()));
    EXPECT_LT(packed.body().size() * 4, plain.size());
    EXPECT_EQ(gunzip(packed.body(), plain.size() + 1), plain);
  }
}

TEST(CompressedAnswers, ArentSentToOthersNorForLittle) {
  HttpSite site;
  HttpClient http = site.client();
  const std::string plain = http.get("/openapi.json").body();
  for (const char* list : {"identity", "gzip;q=0", "br", "gzip;q=0.5, identity;q=0.6"}) {
    const HttpReply reply = coded_reply(http, "GET", "/openapi.json", {{"Accept-Encoding", list}});
    EXPECT_EQ(reply.header("Content-Encoding"), "") << list;
    EXPECT_EQ(reply.header("Vary"), "Accept-Encoding") << "a cache has to know of the other coding";
    EXPECT_EQ(reply.body(), plain);
  }
  const HttpReply small = coded_reply(http, "GET", "/version", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(small.header("Content-Encoding"), "");
  EXPECT_EQ(small.json().at("name"), "signalbox");
  const HttpReply stream = coded_reply(http, "HEAD", "/v1/events", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(stream.header("Content-Encoding"), "");
}

// What was accepted by the request before doesn't count.
TEST(CompressedAnswers, KeepTheirOrderAndEachItsOwnCoding) {
  HttpSite site;
  HttpClient http = site.client();
  const std::string packing = http.text("GET", "/openapi.json", {{"Accept-Encoding", "gzip"}});
  http.send(packing + http.text("GET", "/version") + http.text("GET", "/openapi.json") + packing);
  const HttpReply first = http.reply();
  EXPECT_EQ(first.header("Content-Encoding"), "gzip");
  EXPECT_EQ(http.reply().json().at("name"), "signalbox");
  const HttpReply plain = http.reply();
  EXPECT_EQ(plain.header("Content-Encoding"), "");
  EXPECT_EQ(gunzip(first.body(), plain.body().size()), plain.body());
  EXPECT_EQ(http.reply().body(), first.body());
}

TEST(CompressedAnswers, HaveTheSameHeaderForHead) {
  HttpSite site;
  HttpClient http = site.client();
  const HttpHeaders gzip{{"Accept-Encoding", "gzip"}};
  const HttpReply whole = coded_reply(http, "GET", "/openapi.json", gzip);
  const HttpReply head = coded_reply(http, "HEAD", "/openapi.json", gzip);
  for (const char* name : {"Content-Length", "Content-Encoding", "Content-Type", "Vary"}) {
    EXPECT_EQ(head.header(name), whole.header(name)) << name;
  }
  EXPECT_EQ(http.get("/healthz").status, 200U) << "no body came after the header";
}

// Nothing touches a disk, so no answer waits for one.
TEST(CompressedAnswers, DontWaitForDisksThatHang) {  // G6, O5
  HttpSite site([](HttpService& service) {
    const BlockingPool::ToLanes hung = [](const Lane&, const std::function<void()>&) {};
    service.blocking = {hung, at_once};
  });
  HttpClient http = site.client();
  const HttpReply reply = coded_reply(http, "GET", "/openapi.json", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(reply.header("Content-Encoding"), "gzip");
}

// A stop waits as long as that.
TEST(CompressedAnswers, AreUnderWayUntilTheyAreSent) {  // G6, O5
  std::mutex mutex;
  std::function<void()> held;
  HttpSite site([&](HttpService& service) {
    const BlockingPool::ToLanes hold = [&](const Lane&, std::function<void()> work) {
      const std::lock_guard lock(mutex);
      held = std::move(work);
    };
    service.compression = {hold, at_once};
  });
  HttpClient http = site.client();
  EXPECT_FALSE(site.is_answering());
  http.send(http.text("GET", "/openapi.json", {{"Accept-Encoding", "gzip"}}));
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return held != nullptr;
  }));
  site.finish();
  EXPECT_TRUE(site.is_answering());
  site.on_thread([&] {
    std::exchange(held, nullptr)();
    return 0;
  });
  EXPECT_EQ(http.reply().header("Content-Encoding"), "gzip");
  EXPECT_TRUE(eventually([&] { return !site.is_answering(); }));
}

// Compression is a favor: who would wait for it gets the content as it is.
TEST(CompressedAnswers, ArePlainWhereTooManyWaitToBeCompressed) {
  HttpSite site([](HttpService& service) {
    const BlockingPool::ToLanes full = [](const Lane& lane, const std::function<void()>&) {
      lane.failed(LaneFailure::overloaded);
    };
    service.compression = {full, at_once};
  });
  HttpClient http = site.client();
  const HttpReply reply = coded_reply(http, "GET", "/openapi.json", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(reply.status, 200U);
  EXPECT_EQ(reply.header("Content-Encoding"), "");
  EXPECT_EQ(reply.header("Vary"), "Accept-Encoding");
  EXPECT_EQ(reply.json().contains("paths"), true);
}

}  // namespace
}  // namespace signalbox
