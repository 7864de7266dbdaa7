// Tests the bound of what is read of a response.
#include "server/platform/http_request.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fixtures/faulty_endpoint.h"

namespace signalbox {
namespace {

// Answers each request with a body of this many bytes.
class LongAnswers final : public test::FaultyEndpoint {
 public:
  explicit LongAnswers(std::size_t bytes) : bytes_(bytes) { begin(); }
  ~LongAnswers() override { end(); }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

 private:
  Response handle(const Request&, const std::string&) override {
    Response response;
    response.result(200);
    response.body() = std::string(bytes_, 'x');
    return response;
  }

  const std::size_t bytes_;
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

}  // namespace
}  // namespace signalbox
