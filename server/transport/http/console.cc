#include "server/transport/http/console.h"

#include <algorithm>
#include <string>

#include "server/transport/http/console_assets.h"
#include "server/transport/http/problem.h"

namespace signalbox {
namespace {

// The page runs only its own scripts, talks only to this service, and turns no text into a script
// or an element: what agents wrote is shown as text. The one policy for trusted types makes the
// address of the shared worker.
constexpr char console_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "worker-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types console-worker";

HttpAnswer not_found() {
  return problem(404, {ErrorCode::METHOD_NOT_FOUND,
                       "there is nothing at this path",
                       {},
                       {"curl --unix-socket \"$SIGNALBOX_SOCKET\" http://signalbox/openapi.json"}});
}

HttpAnswer redirection(std::string location) {
  HttpAnswer answer;
  answer.status = 302;
  answer.headers.emplace_back("Location", std::move(location));
  return answer;
}

// Compares weakly: both codings of a file have one tag.
bool has_entity_tag(std::string_view list, std::string_view tag) {
  return list == "*" || list.find(tag) != std::string_view::npos;
}

HttpAnswer asset_answer(const ConsoleAsset& asset, std::string_view cache_control,
                        const ConsoleHeaders& headers) {
  const std::string tag = '"' + std::string(asset.sha256) + '"';
  HttpAnswer answer;
  answer.headers = {{"ETag", "W/" + tag},
                    {"Cache-Control", std::string(cache_control)},
                    {"Vary", "Accept-Encoding"},
                    {"Content-Security-Policy", console_policy},
                    {"Cross-Origin-Opener-Policy", "same-origin"},
                    {"Cross-Origin-Resource-Policy", "same-origin"},
                    {"Referrer-Policy", "no-referrer"}};
  if (has_entity_tag(headers.if_none_match, tag)) {
    answer.status = 304;
    return answer;
  }
  answer.media_type = asset.media_type;
  if (headers.accepts_gzip) answer.headers.emplace_back("Content-Encoding", "gzip");
  answer.body = headers.accepts_gzip ? asset.gzip : asset.content;
  return answer;
}

}  // namespace

HttpAnswer console_front(std::string_view accept) {
  return accept.find("text/html") == std::string_view::npos ? not_found() : redirection("console/");
}

// The browser keeps the fragment, which may hold the secret, in both redirections.
HttpAnswer console_page(const Target& target, const ConsoleHeaders& headers) {
  if (!target.ends_with_slash) return redirection("console/");
  return asset_answer(console_index(), "no-cache", headers);
}

HttpAnswer console_file(std::string_view digest, std::string_view name,
                        const ConsoleHeaders& headers) {
  const auto assets = console_assets();
  const auto found = std::find_if(assets.begin(), assets.end(),
                                  [name](const ConsoleAsset& each) { return each.name == name; });
  if (digest != console_digest() || found == assets.end()) return not_found();
  return asset_answer(*found, "public, max-age=31536000, immutable", headers);
}

}  // namespace signalbox
