// Tests the framing of HTTP requests: what is ambiguous is refused before it is parsed.
#include <gtest/gtest.h>

#include <string>

#include "server/limits.h"
#include "server/transport/http/request_framing.h"

namespace signalbox {
namespace {

// Returns the status that a whole header is refused with; 0 if it is taken.
unsigned status_of_header(const std::string& header) {
  HeaderScan scan;
  if (const auto fault = scan.scan(header)) return fault->status;
  if (scan.header_bytes() == 0) return 1;  // incomplete
  const auto fault = framing_fault(std::string_view(header).substr(0, scan.header_bytes()));
  return fault ? fault->status : 0;
}

unsigned status_of_fields(const std::string& fields) {
  return status_of_header("POST /rpc HTTP/1.1\r\nHost: signalbox\r\n" + fields + "\r\n");
}

TEST(RequestFraming, OneLengthOrChunkedIsTaken) {
  for (const char* fields :
       {"", "Content-Length: 0\r\n", "content-length:17 \r\n", "Transfer-Encoding: chunked\r\n",
        "TRANSFER-ENCODING:\tChunked\t\r\n", "X: \xc3\xa4\r\nX: again\r\n", "Empty:\r\n"}) {
    EXPECT_EQ(status_of_fields(fields), 0U) << fields;
  }
}

TEST(RequestFraming, WhatIsAmbiguousIsRefused) {
  for (const char* fields : {"Content-Length: 1\r\nContent-Length: 1\r\n",
                             "Content-Length: 1, 1\r\n",
                             "Content-Length: +1\r\n",
                             "Content-Length: -1\r\n",
                             "Content-Length: 0x1\r\n",
                             "Content-Length: 1 1\r\n",
                             "Content-Length:\r\n",
                             "Content-Length: 99999999999999999999\r\n",
                             "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked, chunked\r\n",
                             "Transfer-Encoding: chunked, gzip\r\n",
                             "Transfer-Encoding: chunked;a=b\r\n",
                             "Transfer-Encoding:\r\n",
                             "Transfer-Encoding: ,chunked\r\n",
                             "Transfer-Encoding: \"chunked\"\r\n",
                             "Host: signalbox\r\n",
                             "Origin: a\r\nOrigin: b\r\n",
                             "Content-Length : 1\r\n",
                             " folded: 1\r\n",
                             "A: b\r\n folded\r\n",
                             "A: b\r\n\tfolded\r\n",
                             "A: b\rC: d\r\n",
                             "A: \x01\r\n",
                             "no colon\r\n",
                             ": no name\r\n",
                             "A: b\nC: d\r\n"}) {
    EXPECT_EQ(status_of_fields(fields), 400U) << fields;
  }
  EXPECT_EQ(status_of_fields(std::string("A: \0\r\n", 6)), 400U);
  for (const char* codings : {"gzip", "identity", "gzip, chunked", "xchunked", "chunked-ish"}) {
    EXPECT_EQ(status_of_fields("Transfer-Encoding: " + std::string(codings) + "\r\n"), 501U)
        << codings;
  }
}

TEST(RequestFraming, ARequestLineHasThreeParts) {
  const auto status = [](const std::string& line) {
    return status_of_header(line + "\r\nHost: signalbox\r\n\r\n");
  };
  EXPECT_EQ(status("GET / HTTP/1.1"), 0U);
  EXPECT_EQ(status("GET / HTTP/1.0"), 0U);
  for (const char* line : {"GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "GET / HTTP/1.2",
                           "GET / http/1.1", " GET / HTTP/1.1", "GET\t/ HTTP/1.1", "",
                           "G(T / HTTP/1.1", "GET /\x7f HTTP/1.1", "GET / HTTP/2.0"}) {
    EXPECT_EQ(status(line), 400U) << line;
  }
  EXPECT_EQ(status_of_header("GET / HTTP/1.0\r\n\r\n"), 0U) << "HTTP/1.0 has no Host";
  EXPECT_EQ(status_of_header("GET / HTTP/1.1\r\n\r\n"), 400U);
  EXPECT_EQ(status_of_header("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400U);
}

TEST(RequestFraming, AFaultIsFoundInTheLineThatHasIt) {
  HeaderScan scan;
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\nX : b";
  EXPECT_FALSE(scan.scan(text));
  EXPECT_EQ(scan.header_bytes(), 0U);
  text += "\r\n";
  EXPECT_TRUE(scan.scan(text)) << "no need to wait for the rest";
  std::string many = "GET / HTTP/1.1\r\n";
  for (std::size_t number = 0; number <= http_header_fields_max; ++number) many += "A: b\r\n";
  EXPECT_EQ(status_of_header(many + "\r\n"), 431U);
  EXPECT_EQ(status_of_header(many), 431U);
}

TEST(RequestFraming, AHeaderMayComeInPieces) {
  const std::string header = "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
  HeaderScan scan;
  for (std::size_t bytes = 0; bytes < header.size(); ++bytes) {
    ASSERT_FALSE(scan.scan(std::string_view(header).substr(0, bytes)));
    ASSERT_EQ(scan.header_bytes(), 0U) << bytes;
  }
  EXPECT_FALSE(scan.scan(header + "the body"));
  EXPECT_EQ(scan.header_bytes(), header.size());
}

TEST(RequestFraming, EmptyLinesMayComeFirst) {
  EXPECT_EQ(empty_line_bytes("\r\n\r\nGET"), 4U);
  EXPECT_EQ(empty_line_bytes("\nGET"), 1U);
  EXPECT_EQ(empty_line_bytes("GET\r\n"), 0U);
  EXPECT_EQ(empty_line_bytes("\r"), 0U);
  EXPECT_EQ(empty_line_bytes("\rGET"), 0U);
}

}  // namespace
}  // namespace signalbox
