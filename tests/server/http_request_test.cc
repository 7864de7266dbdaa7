// Tests the bound of what is read of a response.
#include "server/platform/http_request.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fixtures/faulty_endpoint.h"

namespace signalbox {
namespace {

// Answers each request with this status and a body of this many bytes.
class LongAnswers final : public test::FaultyEndpoint {
 public:
  explicit LongAnswers(std::size_t bytes, unsigned status = 200) : bytes_(bytes), status_(status) {
    begin();
  }
  ~LongAnswers() override { end(); }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

 private:
  Response handle(const Request&, const std::string&) override {
    Response response;
    response.result(status_);
    response.body() = std::string(bytes_, 'x');
    return response;
  }

  const std::size_t bytes_;
  const unsigned status_;
};

TEST(HttpRequestTest, ABodyHasALimitAndALongerOneIsAFailure) {  // P8
  OutgoingRequest request;
  const LongAnswers at_limit(http_body_bytes_max);
  request.url = at_limit.url();
  const auto whole = send(request, {});
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->body.size(), http_body_bytes_max);

  const LongAnswers beyond(http_body_bytes_max + 1);
  request.url = beyond.url();
  const auto cut = send(request, {});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message,
            "the answer is longer than " + std::to_string(http_body_bytes_max) + " bytes");
  EXPECT_TRUE(cut.error().may_have_arrived);
}

TEST(HttpRequestTest, ABodyHasALimitAndAnErrorForASinkALowerOne) {  // P8
  OutgoingRequest request;
  bool has_sunk = false;
  request.sink = [&has_sunk](std::string_view) { return has_sunk = true; };
  const LongAnswers missing(http_body_bytes_max, 404);
  request.url = missing.url();
  const auto refused = send(request, {});
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->status, 404);
  EXPECT_EQ(refused->body.size(), http_error_bytes_max);
  EXPECT_FALSE(has_sunk);
}

}  // namespace
}  // namespace signalbox
