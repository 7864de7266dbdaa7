#include "server/transport/http/artifact_download.h"

#include <algorithm>

#include "server/platform/attempt_bundle.h"
#include "server/text/json_text.h"
#include "server/text/percent_coding.h"
#include "server/transport/http/call_line.h"
#include "server/transport/http/http_header.h"
#include "server/transport/http/problem.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t hashed_chunk_bytes = 4 * 1024 * 1024;
constexpr std::size_t sent_chunk_bytes = 256 * 1024;

}  // namespace

bool names_entity_tag(std::string_view list, const std::string& etag) {
  return list == "*" || list.find(etag) != std::string_view::npos;
}

std::string content_disposition(const std::string& name) {
  const std::string last = name.substr(name.rfind('/') + 1);
  std::string plain;
  for (const char each : last) {
    const bool is_safe = each >= ' ' && each <= '~' && each != '"' && each != '\\' && each != '%';
    plain += is_safe ? each : '_';
  }
  std::string text = "attachment; filename=\"" + plain + "\"";
  if (plain != last) text += "; filename*=UTF-8''" + percent_encoded(last);
  return text;
}

bool ArtifactDownload::identify(const std::string& actor) {
  caller_ = actor;
  return SingleResponsePeer::identify(actor);
}

void ArtifactDownload::on_answer(const std::string& line) {
  const auto result = result_text(line);
  if (!result) return session().respond(problem_of_line(line));
  read_result(parse_own_answer(*result));
}

void ArtifactDownload::read_result(const json::object& result) {
  const auto text = [&result](const char* name) {
    return std::string(result.at(name).as_string());
  };
  name_ = text("name");
  media_type_ = safe_media_type(text("media_type"));
  path_ = text("path");
  file_bytes_ = result.at("bytes").to_number<std::uint64_t>();
  digest_ = parse_digest(text("sha256")).value_or(Digest{});
  place_ = place_of_json(result);
  etag_ = '"' + text("sha256") + '"';
  if (names_entity_tag(headers_.if_none_match, etag_)) {
    // With the fields of the whole answer: a client keeps them in place of those that it has.
    HttpAnswer unchanged = headers_of_content();
    unchanged.status = 304;
    unchanged.media_type.clear();
    return session().respond(std::move(unchanged));
  }
  open();
}

void ArtifactDownload::open() {
  session().service().open_artifact(
      caller_, place_,
      [self = shared_from_this()](const Decided<std::shared_ptr<const OpenedBlob>>& opened) {
        if (!opened) return self->session().respond(problem(opened.error()));
        self->opened_ = *opened;
        self->check();
      });
}

void ArtifactDownload::check() {
  if (session().closed()) return;
  if (checked_bytes_ == file_bytes_) {
    if (hash_.finish() != digest_) return refuse_damaged("is not what was stored");
    return send_header();
  }
  session().service().blocking.run(
      {.name = "download of " + path_}, [self = shared_from_this()]() -> std::function<void()> {
        const std::size_t bytes =
            std::min<std::uint64_t>(hashed_chunk_bytes, self->file_bytes_ - self->checked_bytes_);
        const std::string chunk = self->read(self->checked_bytes_, bytes);
        self->hash_.update(chunk);
        self->checked_bytes_ += bytes;
        const bool was_read = !chunk.empty();
        return [self, was_read] {
          if (!was_read) return self->refuse_damaged("can't be read");
          self->check();
        };
      });
}

std::string ArtifactDownload::read(std::uint64_t from, std::size_t bytes) const {
  std::string chunk = read_bytes_at(opened_->file, opened_->begins + from, bytes);
  return chunk.size() == bytes ? std::move(chunk) : std::string();
}

void ArtifactDownload::refuse_damaged(const std::string& why) {
  session().respond(
      problem({ErrorCode::STORAGE_DAMAGED,
               "the file of the artifact " + name_ + " " + why,
               {{"path", path_}, {"sha256", to_hex(digest_)}},
               {path_.starts_with('/') ? "sha256sum " + path_ : std::string("signalbox status")}}));
}

// Artifacts are untrusted content of jobs: the header fields keep a browser from showing one as a
// page of this origin.
HttpAnswer ArtifactDownload::headers_of_content() const {
  HttpAnswer answer;
  answer.media_type = media_type_;
  answer.headers = {{"ETag", etag_},
                    {"Accept-Ranges", "bytes"},
                    {"Cache-Control", "private, no-cache"},
                    {"Content-Disposition", content_disposition(name_)},
                    {"Content-Security-Policy", "default-src 'none'; sandbox"}};
  return answer;
}

void ArtifactDownload::send_header() {
  RequestedRange asked{RangeKind::whole, {0, file_bytes_}};
  const bool is_same = headers_.if_range.empty() || headers_.if_range == etag_;
  if (is_same && !session().is_head()) asked = read_range(headers_.range, file_bytes_);
  HttpAnswer answer = headers_of_content();
  const std::string whole = "/" + std::to_string(file_bytes_);
  if (asked.kind == RangeKind::unsatisfiable) {
    answer = problem(416, {ErrorCode::INVALID_REQUEST,
                           "the artifact has no such range",
                           {{"bytes", static_cast<std::int64_t>(file_bytes_)}},
                           {}});
    answer.headers.emplace_back("Content-Range", "bytes *" + whole);
    return session().respond(std::move(answer));
  }
  if (asked.kind == RangeKind::part) {
    answer.status = 206;
    answer.headers.emplace_back(
        "Content-Range", "bytes " + std::to_string(asked.range.from) + "-" +
                             std::to_string(asked.range.from + asked.range.bytes - 1) + whole);
  }
  left_ = asked.range;
  const std::uint64_t body_bytes = left_.bytes;
  if (session().is_head()) left_.bytes = 0;
  session().begin_body(answer, body_bytes, [self = shared_from_this()] { self->send_next(); });
}

void ArtifactDownload::send_next() {
  if (session().closed()) return;
  if (left_.bytes == 0) return session().done();
  session().service().blocking.run(
      {.name = "download of " + path_}, [self = shared_from_this()]() -> std::function<void()> {
        const std::size_t bytes = std::min<std::uint64_t>(sent_chunk_bytes, self->left_.bytes);
        self->chunk_ = self->read(self->left_.from, bytes);
        return [self, bytes] {
          // The header is sent, so closing before Content-Length is reached has to signal the
          // error.
          if (self->chunk_.empty()) return self->session().close();
          self->left_.from += bytes;
          self->left_.bytes -= bytes;
          self->session().send(self->chunk_, [self] { self->send_next(); });
        };
      });
}

}  // namespace signalbox
