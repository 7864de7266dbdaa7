// An OpenTelemetry collector on loopback with faults chosen by a test. It accepts OTLP/JSON and
// checks every request against the specification: an unknown field or a wrong type fails the test.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "tests/server/faulty_endpoint.h"

namespace signalbox::test {

class SpanCollector final : public FaultyEndpoint {
 public:
  explicit SpanCollector(unsigned short port = 0) : FaultyEndpoint(port) { begin(); }
  ~SpanCollector() override { end(); }

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port()) + "/v1/traces";
  }

  // Received spans by trace and span id: the distinct texts of each, of which there should be one.
  using Spans = std::map<std::pair<std::string, std::string>, std::set<std::string>>;
  [[nodiscard]] Spans spans() {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  // Returns the number of received spans, including repeated ones.
  [[nodiscard]] std::size_t received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  [[nodiscard]] std::map<std::string, std::string> last_headers() {
    const std::lock_guard lock(mutex_);
    return last_headers_;
  }
  [[nodiscard]] std::string last_body() {
    const std::lock_guard lock(mutex_);
    return last_body_;
  }
  // Makes the next response report this many rejected spans.
  void reject_next(std::uint64_t spans) {
    const std::lock_guard lock(mutex_);
    reject_ = spans;
  }

 private:
  Response handle(const Request& request, const std::string& method) override {
    const std::lock_guard lock(mutex_);
    Response response;
    response.result(200);
    response.set(boost::beast::http::field::content_type, "application/json");
    EXPECT_EQ(method, "POST");
    EXPECT_EQ(std::string(request.target()), "/v1/traces");
    EXPECT_EQ(std::string(request[boost::beast::http::field::content_type]), "application/json");
    last_headers_.clear();
    for (const auto& field : request) {
      last_headers_[std::string(field.name_string())] = std::string(field.value());
    }
    last_body_ = request.body();
    check_and_store(boost::json::parse(last_body_).as_object());
    response.body() = "{}";
    if (reject_ > 0) {
      response.body() = R"({"partialSuccess":{"rejectedSpans":")" + std::to_string(reject_) +
                        R"(","errorMessage":"too many"}})";
      reject_ = 0;
    }
    return response;
  }

  using Object = boost::json::object;

  static void expect_keys(const Object& object, const std::set<std::string>& known,
                          const std::set<std::string>& needed) {
    for (const auto& each : object) {
      EXPECT_TRUE(known.contains(std::string(each.key()))) << "unknown field " << each.key();
    }
    for (const std::string& key : needed) EXPECT_TRUE(object.contains(key)) << key;
  }
  static std::string hex_of(const Object& object, const char* key, std::size_t digits) {
    const std::string text(object.at(key).as_string());
    EXPECT_EQ(text.size(), digits) << key;
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
    EXPECT_NE(text.find_first_not_of('0'), std::string::npos) << key;
    return text;
  }
  // Returns a 64 bit number, which OTLP/JSON writes as a string of digits.
  static std::uint64_t number_of(const Object& object, const char* key) {
    const std::string text(object.at(key).as_string());
    EXPECT_EQ(text.find_first_not_of("0123456789"), std::string::npos) << text;
    return std::stoull(text);
  }
  static void check_attributes(const Object& holder) {
    std::set<std::string> keys;
    for (const auto& each : holder.at("attributes").as_array()) {
      const Object& attribute = each.as_object();
      expect_keys(attribute, {"key", "value"}, {"key", "value"});
      EXPECT_TRUE(keys.insert(std::string(attribute.at("key").as_string())).second)
          << attribute.at("key");
      const Object& value = attribute.at("value").as_object();
      EXPECT_EQ(value.size(), 1U);
      if (value.contains("intValue")) {
        (void)std::stoll(std::string(value.at("intValue").as_string()));
      } else {
        (void)value.at("stringValue").as_string();
      }
    }
  }
  void check_and_store(const Object& request) {
    expect_keys(request, {"resourceSpans"}, {"resourceSpans"});
    for (const auto& each : request.at("resourceSpans").as_array()) {
      const Object& of_resource = each.as_object();
      expect_keys(of_resource, {"resource", "scopeSpans"}, {"resource", "scopeSpans"});
      check_attributes(of_resource.at("resource").as_object());
      for (const auto& scope : of_resource.at("scopeSpans").as_array()) {
        expect_keys(scope.as_object(), {"scope", "spans"}, {"scope", "spans"});
        for (const auto& span : scope.as_object().at("spans").as_array()) {
          check_and_store_span(span.as_object());
        }
      }
    }
  }
  void check_and_store_span(const Object& span) {
    expect_keys(
        span,
        {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano",
         "endTimeUnixNano", "attributes", "events", "droppedEventsCount", "links", "status"},
        {"traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"});
    if (span.contains("parentSpanId")) hex_of(span, "parentSpanId", 16);
    EXPECT_EQ(span.at("kind").as_int64(), 1);
    const std::uint64_t begin = number_of(span, "startTimeUnixNano");
    EXPECT_GT(begin, 1'500'000'000'000'000'000U);
    EXPECT_GE(number_of(span, "endTimeUnixNano"), begin);
    check_attributes(span);
    if (span.contains("events")) {
      for (const auto& event : span.at("events").as_array()) {
        expect_keys(event.as_object(), {"timeUnixNano", "name", "attributes"},
                    {"timeUnixNano", "name"});
        number_of(event.as_object(), "timeUnixNano");
        check_attributes(event.as_object());
      }
    }
    if (span.contains("links")) {
      for (const auto& link : span.at("links").as_array()) {
        expect_keys(link.as_object(), {"traceId", "spanId"}, {"traceId", "spanId"});
        hex_of(link.as_object(), "traceId", 32);
        hex_of(link.as_object(), "spanId", 16);
      }
    }
    const Object& status = span.at("status").as_object();
    expect_keys(status, {"code", "message"}, {"code"});
    EXPECT_LE(status.at("code").as_int64(), 2);
    spans_[{hex_of(span, "traceId", 32), hex_of(span, "spanId", 16)}].insert(
        boost::json::serialize(span));
    ++received_;
  }

  Spans spans_;
  std::size_t received_ = 0;
  std::uint64_t reject_ = 0;
  std::map<std::string, std::string> last_headers_;
  std::string last_body_;
};

}  // namespace signalbox::test
