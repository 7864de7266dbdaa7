// What is read of the XML that an S3-compatible store answers with: a listing (ListObjectsV2), and
// the code of an error. Anybody may have written it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

struct S3Object {
  std::string key;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // UTC
};

struct S3Listing {
  std::vector<S3Object> objects;
  std::string next_token;  // of the next page; empty: this is the last one
};

// Reads a page of a listing. The error says what is wrong with it.
tl::expected<S3Listing, std::string> parse_s3_listing(std::string_view xml);

// Returns the code of an error such as `NoSuchKey`, of letters and digits; empty if the text has
// none.
std::string s3_error_code(std::string_view xml);

}  // namespace signalbox
