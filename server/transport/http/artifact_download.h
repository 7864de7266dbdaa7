// The response with an artifact's content: calls run.artifact, then streams the file in chunks, so
// that a large artifact takes no more memory than a small one.
//
// The file, or a copy of what a store of objects has, is opened once and its digest checked before
// the first byte is sent, so only what was stored is served. Reading and hashing are done on the
// blocking pool.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "server/platform/artifact_store.h"
#include "server/transport/http/byte_range.h"
#include "server/transport/http/http_exchange.h"
#include "store/sha256.h"

namespace signalbox {

// Values of the request's header fields; empty: the field is missing.
struct DownloadHeaders {
  std::string if_none_match;
  std::string range;
  std::string if_range;
};

class ArtifactDownload final : public SingleResponsePeer,
                               public std::enable_shared_from_this<ArtifactDownload> {
 public:
  ArtifactDownload(std::shared_ptr<HttpSession> session, DownloadHeaders headers)
      : SingleResponsePeer(std::move(session)), headers_(std::move(headers)) {}

  bool identify(const std::string& actor) override;

 private:
  void on_answer(const std::string& line) override;
  void read_result(const boost::json::object& result);
  void open();
  void check();
  void send_header();
  void send_next();
  // Returns so many bytes of the content; "" if they can't be read.
  [[nodiscard]] std::string read(std::uint64_t from, std::size_t bytes) const;
  void refuse_damaged(const std::string& why);
  [[nodiscard]] HttpAnswer headers_of_content() const;

  const DownloadHeaders headers_;
  std::string caller_;
  std::string name_;
  std::string media_type_;
  std::string path_;
  std::uint64_t file_bytes_ = 0;
  Digest digest_;
  ArtifactPlace place_;
  std::string etag_;
  std::shared_ptr<const OpenedBlob> opened_;
  Sha256 hash_;
  std::uint64_t checked_bytes_ = 0;
  ByteRange left_;
  std::string chunk_;
};

// Returns true if the value of If-None-Match, a list of entity tags or `*`, contains `etag`. A weak
// tag matches as well.
bool names_entity_tag(std::string_view list, const std::string& etag);

// Returns a Content-Disposition value (RFC 6266): `attachment` with the last part of `name`, as
// ASCII and, if that differs, also as filename* (RFC 8187).
std::string content_disposition(const std::string& name);

}  // namespace signalbox
