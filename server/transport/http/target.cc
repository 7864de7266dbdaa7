#include "server/transport/http/target.h"

#include <utility>

#include "domain/try.h"
#include "server/text/percent_coding.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

tl::unexpected<Rejection> invalid(std::string message) {
  return reject(ErrorCode::INVALID_REQUEST, "the request's target " + std::move(message));
}

Decided<std::string> text_of_part(std::string_view part, bool plus_is_space) {
  auto text = percent_decoded(part, plus_is_space);
  if (!text) return invalid("has a broken escape");
  if (text->find('\0') != std::string::npos || !is_utf8(*text)) return invalid("isn't UTF-8 text");
  return std::move(*text);
}

Decided<void> read_path(std::string_view path, Target& target) {
  if (path == "*") {
    target.segments.emplace_back("*");
    return {};
  }
  if (path.empty() || path.front() != '/') return invalid("must begin with a slash");
  path.remove_prefix(1);
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    auto segment = TRY(text_of_part(path.substr(0, slash), false));
    if (segment.empty() || segment == "." || segment == "..") {
      return invalid("has an empty segment, or one of dots");
    }
    target.segments.push_back(std::move(segment));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
    target.ends_with_slash = path.empty();
  }
  return {};
}

Decided<void> read_query(std::string_view query, Target& target) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = pair.find('=');
    auto name = TRY(text_of_part(pair.substr(0, equals), true));
    auto value = TRY(text_of_part(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true));
    if (!name.empty()) target.query.emplace_back(std::move(name), std::move(value));
    if (end == std::string_view::npos) break;
    query.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace

Decided<Target> read_target(std::string_view text) {
  Target target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::size_t end = text.find_first_of("/?");
    target.authority = text.substr(0, end);
    text = end == std::string_view::npos ? "/" : text.substr(end);
    break;
  }
  const std::size_t question = text.find('?');
  TRY(read_path(text.substr(0, question), target));
  if (question != std::string_view::npos) {
    TRY(read_query(text.substr(question + 1), target));
  }
  return target;
}

}  // namespace signalbox
