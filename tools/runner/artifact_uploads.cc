#include "tools/runner/artifact_uploads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/limits.h"
#include "server/platform/attempt_bundle.h"
#include "server/platform/http_request.h"
#include "store/base64.h"
#include "store/sha256.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::int64_t connect_ms_max = 5'000;
constexpr std::int64_t stall_ms_max = 15'000;
constexpr std::size_t bytes_per_ms_min = 256;  // a whole artifact takes less than five minutes

// Returns the request that the service's answer describes; nullopt for one that isn't for us to
// send, such as a URL that would take the content over the network in clear. A URL of this machine
// means the service's machine: elsewhere anybody may listen there.
std::optional<OutgoingRequest> request_of(const json::object& direct, bool is_service_here) {
  OutgoingRequest request;
  request.method = "PUT";
  request.url = text_at(direct, "url");
  const UrlReach reach = reach_of_url(request.url);
  const bool may_reach =
      reach == UrlReach::protected_ || (reach == UrlReach::machine && is_service_here);
  if (!may_reach) return std::nullopt;
  const json::value* const headers = direct.if_contains("headers");
  if (headers == nullptr || !headers->is_object()) return std::nullopt;
  for (const auto& [name, value] : headers->get_object()) {
    if (!value.is_string()) return std::nullopt;
    request.headers.emplace_back(std::string(name), std::string(value.get_string()));
  }
  return request;
}

// What goes into a bundle, and what is beside it.
struct Bundled {
  std::vector<Artifact> members;
  std::vector<Artifact> others;  // those that are too large for it
};

// Returns nullopt if a bundle would save nothing, or could be taken for another one.
std::optional<Bundled> bundled_of(const std::vector<Artifact>& artifacts) {
  if (artifacts.size() < 2 || std::any_of(artifacts.begin(), artifacts.end(), is_bundle)) {
    return std::nullopt;
  }
  Bundled bundled;
  for (const Artifact& artifact : artifacts) {
    // Two attempts seldom leave the same bundle, but often the same large file: by itself it is
    // stored once.
    if (artifact.bytes > limits::bundled_artifact_bytes_max) {
      bundled.others.push_back(artifact);
      continue;
    }
    bundled.members.push_back(artifact);
    const auto bytes = bundle_bytes(bundled.members);
    if (bytes && *bytes <= limits::artifact_bytes_max) continue;
    bundled.members.pop_back();
    bundled.others.push_back(artifact);
  }
  if (bundled.members.size() < 2) return std::nullopt;
  return bundled;
}

}  // namespace

ArtifactUploads::ArtifactUploads(const ArtifactStore& artifacts, bool is_service_here, Call call,
                                 std::function<bool()> is_stopping, Log log,
                                 std::chrono::milliseconds pause)
    : artifacts_(artifacts),
      is_service_here_(is_service_here),
      call_(std::move(call)),
      is_stopping_(std::move(is_stopping)),
      log_(std::move(log)),
      pause_(pause) {}

Called<std::string> ArtifactUploads::content_of(const Artifact& artifact) const {
  auto found = artifacts_.get(artifact.sha256);
  if (found) return std::move(*found);
  using Kind = StoreError::Kind;
  const Kind kind = found.error().kind;
  CallError unread = from_store_error(found.error());
  // What can't be read for want of descriptors, or by a disk at the moment, is tried again.
  if (kind == Kind::not_found || kind == Kind::damaged) {
    unread.error["data"] = {{"code", gone_code}};
  }
  return tl::unexpected(std::move(unread));
}

// Content first, then the word that names it: the service never has a name without its content.
Called<std::vector<Artifact>> ArtifactUploads::upload(const std::vector<Artifact>& artifacts,
                                                      bool bundles) {
  const auto bundled = bundles ? bundled_of(artifacts) : std::nullopt;
  const std::vector<Artifact>& single = bundled ? bundled->others : artifacts;
  for (const Artifact& artifact : single) TRY(upload_content(artifact, TRY(content_of(artifact))));
  if (!bundled) return artifacts;
  std::optional<CallError> failed;
  const auto read = [&](const Artifact& member) -> Stored<std::string> {
    auto content = content_of(member);
    if (content) return std::move(*content);
    failed = std::move(content.error());
    return tl::unexpected(StoreError{});
  };
  const auto content = make_bundle(bundled->members, read);
  if (!content) return tl::unexpected(std::move(*failed));
  const Artifact bundle{std::string(bundle_name), std::string(bundle_media_type), content->size(),
                        sha256(*content)};
  TRY(upload_content(bundle, *content));
  std::vector<Artifact> named = bundled->members;
  named.push_back(bundle);
  named.insert(named.end(), bundled->others.begin(), bundled->others.end());
  return named;
}

Called<void> ArtifactUploads::upload_content(const Artifact& artifact, std::string_view content) {
  bool wants_url = may_try_directly();
  // Without content the service says whether it has it, and where it may go.
  bool only_asks = wants_url;
  bool was_put = false;  // and nobody has found it there yet
  std::size_t offset = 0;
  for (int tries_left = 3;;) {
    const std::string piece =
        only_asks ? "" : std::string(content.substr(offset, limits::upload_piece_bytes_max));
    const auto answer = TRY(call_({{"sha256", to_hex(artifact.sha256)},
                                   {"bytes", static_cast<std::int64_t>(content.size())},
                                   {"offset", static_cast<std::int64_t>(offset)},
                                   {"content", to_base64(piece)},
                                   {"wants_url", wants_url}}));
    if (true_at(answer, "complete")) {
      if (was_put) note_direct_success();
      return {};
    }
    if (only_asks) {
      // After an upload the same question has the service look for it.
      const bool is_first = std::exchange(wants_url, false);
      was_put = is_first && put_directly(answer, content);
      only_asks = was_put;
      if (!is_first) note_direct_failure("the service doesn't find there what was sent");
      continue;
    }
    const auto next = static_cast<std::size_t>(number_at(answer, "next_offset"));
    if (next <= offset && --tries_left == 0) {
      return tl::unexpected(
          io_error("the upload of " + std::string(artifact.name) + " makes no progress"));
    }
    offset = std::min(next, content.size());
  }
}

bool ArtifactUploads::may_try_directly() const {
  return !direct_again_at_ || std::chrono::steady_clock::now() >= *direct_again_at_;
}

bool ArtifactUploads::put_directly(const json::object& answer, std::string_view content) {
  const json::value* const direct = answer.if_contains("direct");
  if (direct == nullptr || !direct->is_object()) {
    // A service with a directory, or of an earlier version: it needn't be asked for each artifact.
    direct_again_at_ = std::chrono::steady_clock::now() + pause_;
    return false;
  }
  auto request = request_of(direct->get_object(), is_service_here_);
  if (!request) {
    note_direct_failure(
        "its URL would take them over the network in clear, is of the service's machine only, or "
        "is none");
    return false;
  }
  request->content = content;
  request->follow = false;
  request->is_canceled = is_stopping_;
  request->stall_ms = stall_ms_max;
  request->answer_bytes_max = http_error_bytes_max;
  HttpTimeouts times;
  times.connect_ms = connect_ms_max;
  times.whole_ms = stall_ms_max + static_cast<std::int64_t>(content.size() / bytes_per_ms_min);
  const auto sent = send(*request, times);
  constexpr long precondition_failed = 412;  // somebody has stored it already
  if (sent && (sent->status / 100 == 2 || sent->status == precondition_failed)) {
    return true;
  }
  // The answer isn't quoted: a store's may have the request, which is a secret for a while.
  note_direct_failure(sent ? "it answers HTTP " + std::to_string(sent->status)
                           : sent.error().message);
  return false;
}

void ArtifactUploads::note_direct_success() {
  if (std::exchange(has_told_failure_, false))
    log_(/*ok=*/true, "artifacts go straight into the store again");
  direct_again_at_.reset();
}

void ArtifactUploads::note_direct_failure(const std::string& why) {
  if (is_stopping_()) return;
  direct_again_at_ = std::chrono::steady_clock::now() + pause_;
  if (std::exchange(has_told_failure_, true)) return;
  log_(/*ok=*/false,
       "artifacts go through the service: its store of objects can't be used from here: " + why);
}

}  // namespace signalbox
