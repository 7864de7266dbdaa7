// The content of an artifact: asked for with run.artifact, then sent from its file, piece by piece,
// so that a large one takes no more memory than a small one.
//
// The file is opened once and its digest checked before the first byte is sent: nothing is served
// that isn't what was stored. Both are done on the thread that may block.
#pragma once

#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "server/transport/http/byte_range.h"
#include "server/transport/http/http_exchange.h"
#include "store/file_descriptor.h"
#include "store/sha256.h"

namespace signalbox {

// Values of the request's headers; empty where they aren't there.
struct DownloadHeaders {
  std::string if_none_match;
  std::string range;
  std::string if_range;
};

class ArtifactDownload final : public OneAnswerPeer,
                               public std::enable_shared_from_this<ArtifactDownload> {
 public:
  ArtifactDownload(std::shared_ptr<HttpSession> session, DownloadHeaders headers)
      : OneAnswerPeer(std::move(session)), headers_(std::move(headers)) {}

 private:
  void on_answer(const std::string& line) override;
  void read_result(const boost::json::object& result);
  void open();
  void check();
  void send_header();
  void send_next();
  void refuse_damaged(const std::string& why);
  [[nodiscard]] HttpAnswer headers_of_content() const;

  const DownloadHeaders headers_;
  std::string name_;
  std::string media_type_;
  std::string path_;
  std::uint64_t file_bytes_ = 0;
  Digest digest_;
  std::string etag_;
  FileDescriptor file_;
  Sha256 hash_;
  std::uint64_t checked_bytes_ = 0;
  ByteRange left_;
  std::string piece_;
};

// `attachment` with the name's last part, in a form that every client reads.
std::string content_disposition(const std::string& name);

}  // namespace signalbox
