#include "server/transport/http/content_coding.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "domain/text_parts.h"
#include "server/text/ascii_case.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

// Returns a weight in thousandths; 0, which refuses, for what isn't one (RFC 9110, 12.4.2).
int thousandths(std::string_view text) {
  constexpr std::size_t digits_max = 3;
  if (text.empty() || text.size() > digits_max + 2 || (text[0] != '0' && text[0] != '1')) return 0;
  if (text.size() > 1 && text[1] != '.') return 0;
  int weight = (text[0] - '0') * 1000;
  int unit = 100;
  for (const char digit : text.substr(std::min<std::size_t>(text.size(), 2))) {
    if (digit < '0' || digit > '9') return 0;
    weight += (digit - '0') * unit;
    unit /= 10;
  }
  return weight <= 1000 ? weight : 0;
}

int weight_of(std::string_view params) {
  int weight = 1000;
  while (!params.empty()) {
    std::string_view value = take_until(params, ';');
    const std::string_view name = take_until(value, '=');
    if (is_same_but_for_case(trimmed(name), "q")) {
      weight = std::min(weight, thousandths(trimmed(value)));
    }
  }
  return weight;
}

bool is_json(std::string_view media_type) {
  return media_type == "application/json" || media_type == "application/problem+json";
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<int> gzip;
  std::optional<int> plain;
  std::optional<int> others;
  while (!accept_encoding.empty()) {
    std::string_view params = take_until(accept_encoding, ',');
    const std::string_view name = trimmed(take_until(params, ';'));
    std::optional<int>* weight = nullptr;
    if (is_same_but_for_case(name, "gzip") || is_same_but_for_case(name, "x-gzip")) {
      weight = &gzip;
    } else if (is_same_but_for_case(name, "identity")) {
      weight = &plain;
    } else if (name == "*") {
      weight = &others;
    }
    // Of a coding that is there twice, the refusal counts: plain content is never wrong.
    if (weight != nullptr) *weight = std::min(weight->value_or(1000), weight_of(params));
  }
  const int other_weight = others.value_or(0);
  const int gzip_weight = gzip.value_or(other_weight);
  return gzip_weight > 0 && gzip_weight >= plain.value_or(other_weight);
}

bool is_compressible(const HttpAnswer& answer) {
  if (answer.body.size() <= plain_json_bytes_max || !is_json(answer.media_type)) return false;
  return std::none_of(answer.headers.begin(), answer.headers.end(), [](const auto& field) {
    return field.first == "Content-Encoding" || field.first == "ETag";
  });
}

std::optional<std::string> gzip_text(std::string_view content) {
  if (content.size() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  const auto stream = std::make_unique<isal_zstream>();
  const auto work_space = std::make_unique<std::uint8_t[]>(ISAL_DEF_LVL1_DEFAULT);
  isal_deflate_stateless_init(stream.get());
  stream->level = 1;
  stream->level_buf = work_space.get();
  stream->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
  stream->gzip_flag = IGZIP_GZIP;
  stream->end_of_stream = 1;
  stream->flush = NO_FLUSH;
  std::string packed(content.size(), '\0');
  // The library only reads its input, though the type doesn't say so.
  stream->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(content.data()));
  stream->avail_in = static_cast<std::uint32_t>(content.size());
  stream->next_out = reinterpret_cast<std::uint8_t*>(packed.data());
  stream->avail_out = static_cast<std::uint32_t>(packed.size());
  const bool is_smaller = isal_deflate_stateless(stream.get()) == COMP_OK && stream->avail_in == 0;
  if (!is_smaller) return std::nullopt;
  packed.resize(stream->total_out);
  packed.shrink_to_fit();
  return packed;
}

}  // namespace signalbox
