// What a store of objects answers: listings and errors, by whoever is at its address.
#include "server/platform/s3_answer.h"

#include <algorithm>
#include <cctype>

#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_s3_answer(std::string_view input) {
  if (const auto listing = parse_s3_listing(input)) {
    for (const S3Object& object : listing->objects) {
      SIGNALBOX_CHECK(!object.key.empty() && object.key.size() <= input.size());
    }
  }
  const std::string code = s3_error_code(input);
  SIGNALBOX_CHECK(
      std::all_of(code.begin(), code.end(), [](unsigned char c) { return std::isalnum(c) != 0; }));
}

}  // namespace signalbox
