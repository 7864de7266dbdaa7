// The protocol of a job endpoint (JOBS.md, "Remote jobs"): what is asked, and what the answers
// mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/executors/executor.h"
#include "server/platform/http_request.h"

namespace signalbox {

// An error of the endpoint, and when it may be asked again, if it said so.
struct RemoteError {
  ExecutorError error;
  std::optional<std::int64_t> retry_after_ms;
  bool may_have_arrived = true;
};

template <class T>
using Remote = tl::expected<T, RemoteError>;

// How a remote job is.
struct RemoteState {
  enum class Kind {
    running,
    finished,  // `result` is what it gave
    gone,      // the endpoint knows no such job, or not any more
  };
  Kind kind = Kind::running;
  std::string result;
};

class RemoteEndpoint {
 public:
  // `environment` is the server's own, "NAME=VALUE": MODAL_TOKEN_ID and MODAL_TOKEN_SECRET,
  // and SSL_CERT_FILE, which OpenSSL's programs know.
  explicit RemoteEndpoint(const std::vector<std::string>& environment, HttpTimes times = {});

  // CONFIG_MISSING with the name of the first variable that isn't set; its value is never shown.
  [[nodiscard]] Executed<void> configured() const;

  // The call id. The same job again is the same call, where the endpoint honours Idempotency-Key.
  [[nodiscard]] Remote<std::string> submit(const Job& job) const;
  // The call id of a job that was submitted, or nothing. An endpoint that can't look one up knows
  // none.
  [[nodiscard]] Remote<std::optional<std::string>> look_up(const Job& job) const;
  [[nodiscard]] Remote<RemoteState> ask(const Job& job, const std::string& call_id) const;
  // True if the endpoint has such a call.
  [[nodiscard]] Remote<bool> cancel(const Job& job, const std::string& call_id) const;

 private:
  [[nodiscard]] OutgoingRequest request(const Job& job, std::string method, std::string url) const;
  [[nodiscard]] Remote<HttpResponse> send(const OutgoingRequest& request) const;

  std::string token_id_;
  std::string token_secret_;
  std::string trusted_;  // certificates
  HttpTimes times_;
};

}  // namespace signalbox
