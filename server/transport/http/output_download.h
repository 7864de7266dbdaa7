// The response with what the job of an attempt printed: calls run.log to find the job, then reads
// what is kept of its output, or the range of it that is asked for, on the blocking pool. So much
// is kept of a stream (a megabyte) that it is read at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/rpc/kept_output.h"
#include "server/transport/http/artifact_download.h"
#include "server/transport/http/http_exchange.h"

namespace signalbox {

// One stream of one attempt.
struct AttemptOutput {
  std::string job_id;
  std::string station;
  std::int64_t attempt = 0;
  std::string stream;
  std::uint64_t end = 0;  // the stream was already that long
};

// Returns the response with the stream as it is now: all that is kept, with a line in place of what
// isn't, or the range. Ranges count the bytes that were printed, kept or not. Blocks on the disk.
HttpAnswer output_answer(const OutputReader& read, const AttemptOutput& output,
                         const DownloadHeaders& headers, bool is_head);

class OutputDownload final : public SingleResponsePeer,
                             public std::enable_shared_from_this<OutputDownload> {
 public:
  OutputDownload(std::shared_ptr<HttpSession> session, DownloadHeaders headers)
      : SingleResponsePeer(std::move(session)), headers_(std::move(headers)) {}

 private:
  void on_answer(const std::string& line) override;

  const DownloadHeaders headers_;
};

}  // namespace signalbox
