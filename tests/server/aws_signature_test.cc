// Tests signatures with the examples of AWS's documentation ("Signature Calculations for the
// Authorization Header", of Amazon S3), and what is read of a store's XML.
#include "server/platform/aws_signature.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "server/platform/s3_answer.h"
#include "server/text/time_text.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

std::string signature_of(const SignedParts& request) {
  const AwsCredentials example{
      "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", {}};
  const auto headers =
      signed_headers(request, example, "us-east-1", parse_time("2013-05-24T00:00:00Z").value());
  const std::string value = headers.back().second;
  return value.substr(value.find("Signature=") + 10);
}

TEST(AwsSignatureTest, IsThatOfTheDocumentedExamples) {
  const std::string empty = to_hex(sha256(""));
  const std::string host = "examplebucket.s3.amazonaws.com";
  EXPECT_EQ(signature_of({"GET", host, "/test.txt", {}, {{"range", "bytes=0-9"}}, empty}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(signature_of({"PUT",
                          host,
                          "/test%24file.text",
                          {},
                          {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                           {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                          to_hex(sha256("Welcome to Amazon S3."))}),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(signature_of({"GET", host, "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}, empty}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// "Authenticating Requests: Using Query Parameters".
TEST(AwsSignatureTest, OfAUrlIsThatOfTheDocumentedExample) {
  const AwsCredentials example{
      "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", {}};
  const NamedValues query = presigned_query(
      {"GET", "examplebucket.s3.amazonaws.com", "/test.txt", {}, {}, unsigned_payload}, example,
      "us-east-1", parse_time("2013-05-24T00:00:00Z").value(), 86400);
  EXPECT_EQ(canonical_query(query),
            "X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
            "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
            "&X-Amz-Signature="
            "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
            "&X-Amz-SignedHeaders=host");
}

TEST(AwsSignatureTest, OfAUrlBindsTheHeadersAndHasTheSessionToken) {
  const NamedValues query =
      presigned_query({"PUT", "h", "/", {}, {{"if-none-match", "*"}}, unsigned_payload},
                      {"id", "secret", "token"}, "r", 0, 300);
  const auto has = [&query](const char* name, const char* value) {
    return std::find(query.begin(), query.end(),
                     std::pair<std::string, std::string>(name, value)) != query.end();
  };
  EXPECT_TRUE(has("X-Amz-SignedHeaders", "host;if-none-match"));
  EXPECT_TRUE(has("X-Amz-Security-Token", "token"));
  EXPECT_EQ(canonical_query(query).find("secret"), std::string::npos);
}

TEST(AwsSignatureTest, ASessionTokenIsSentAndSigned) {
  const auto headers = signed_headers({"GET", "h", "/", {}, {}, to_hex(sha256(""))},
                                      {"id", "secret", "token"}, "r", 0);
  const auto token =
      std::find(headers.begin(), headers.end(),
                std::pair<std::string, std::string>("x-amz-security-token", "token"));
  EXPECT_NE(token, headers.end());
  EXPECT_NE(headers.back().second.find("x-amz-security-token"), std::string::npos);
  EXPECT_EQ(headers.back().second.find("secret"), std::string::npos);
}

TEST(S3AnswerTest, AListingIsReadAndAnotherTextIsRefused) {
  const std::string object =
      "<Contents><Key>a&amp;b</Key><LastModified>2026-11-24T02:34:12.000Z</LastModified>"
      "<Size>5</Size></Contents>";
  const auto whole = parse_s3_listing("<ListBucketResult><IsTruncated>true</IsTruncated>" + object +
                                      "<NextContinuationToken>n</NextContinuationToken>"
                                      "</ListBucketResult>");
  ASSERT_TRUE(whole) << whole.error();
  ASSERT_EQ(whole->objects.size(), 1U);
  EXPECT_EQ(whole->objects[0].key, "a&b");
  EXPECT_EQ(whole->objects[0].bytes, 5U);
  EXPECT_EQ(format_time(whole->objects[0].modified_ns).substr(0, 19), "2026-11-24T02:34:12");
  EXPECT_EQ(whole->next_token, "n");
  for (const std::string& wrong :
       {std::string(), std::string("<html>hello</html>"), "<ListBucketResult>" + object,
        std::string("<ListBucketResult><Contents></Contents></ListBucketResult>"),
        std::string("<ListBucketResult><Contents><Key>k</Key><Size>-1</Size></Contents>"
                    "</ListBucketResult>"),
        std::string("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")}) {
    EXPECT_FALSE(parse_s3_listing(wrong)) << wrong;
  }
  EXPECT_EQ(s3_error_code("<Error><Code>NoSuchKey</Code></Error>"), "NoSuchKey");
  EXPECT_EQ(s3_error_code("<Error><Code>\x1b[31m</Code></Error>"), "");
  EXPECT_EQ(s3_error_code(""), "");
}

}  // namespace
}  // namespace signalbox
