#include "server/platform/s3_answer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "domain/try.h"
#include "server/text/separated_text.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::size_t error_code_bytes_max = 64;

// Returns the text between the first <name> at or after `from` and its end, and sets `from` to
// behind that; nullopt if there is none. The elements that are read have no attributes, and none
// lies within another one of its name.
std::optional<std::string_view> next_element(std::string_view xml, const std::string& name,
                                             std::size_t& from) {
  const std::string begin = "<" + name + ">";
  const std::string end = "</" + name + ">";
  const std::size_t begins = xml.find(begin, from);
  if (begins == std::string_view::npos) return std::nullopt;
  const std::size_t ends = xml.find(end, begins);
  if (ends == std::string_view::npos) return std::nullopt;
  from = ends + end.size();
  return xml.substr(begins + begin.size(), ends - begins - begin.size());
}

std::string_view element(std::string_view xml, const std::string& name) {
  std::size_t from = 0;
  return next_element(xml, name, from).value_or(std::string_view());
}

// Decodes the five entities that XML has by itself; others stay as they are.
std::string plain_text(std::string_view xml) {
  static constexpr std::array<std::pair<std::string_view, char>, 5> entities{
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string text;
  while (!xml.empty()) {
    const auto* const found =
        std::find_if(entities.begin(), entities.end(),
                     [xml](const auto& entity) { return xml.starts_with(entity.first); });
    text += found == entities.end() ? xml.front() : found->second;
    xml.remove_prefix(found == entities.end() ? 1 : found->first.size());
  }
  return text;
}

tl::expected<S3Object, std::string> parse_object(std::string_view xml) {
  S3Object object;
  object.key = plain_text(element(xml, "Key"));
  if (object.key.empty()) return tl::unexpected(std::string("an object has no key"));
  const auto bytes = whole_number<std::uint64_t>(element(xml, "Size"));
  if (!bytes) return tl::unexpected(std::string("an object has no size"));
  object.bytes = *bytes;
  const auto modified = parse_time(element(xml, "LastModified"));
  if (!modified) return tl::unexpected(std::string("an object has no time"));
  object.modified_ns = *modified;
  return object;
}

}  // namespace

tl::expected<S3Listing, std::string> parse_s3_listing(std::string_view xml) {
  const std::size_t begins = xml.find("<ListBucketResult");
  if (begins == std::string_view::npos || xml.find("</ListBucketResult>", begins) == xml.npos) {
    return tl::unexpected(std::string("it isn't a whole listing"));
  }
  xml.remove_prefix(begins);
  S3Listing listing;
  std::size_t from = 0;
  while (const auto each = next_element(xml, "Contents", from)) {
    listing.objects.push_back(TRY(parse_object(*each)));
  }
  if (element(xml, "IsTruncated") == "true") {
    listing.next_token = plain_text(element(xml, "NextContinuationToken"));
    if (listing.next_token.empty()) {
      return tl::unexpected(std::string("it says that there is more, and not how to get it"));
    }
  }
  return listing;
}

std::string s3_error_code(std::string_view xml) {
  const std::string_view code = element(xml, "Code");
  const bool is_code =
      code.size() <= error_code_bytes_max && std::all_of(code.begin(), code.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      });
  return is_code ? std::string(code) : std::string();
}

}  // namespace signalbox
