// The client side of the job endpoint's protocol (JOBS.md, "Remote jobs"): requests, and the
// meaning of responses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "server/executors/executor.h"
#include "server/platform/http_request.h"

namespace signalbox {

// Values in an answer's JSON: several times what a valid one can have. Each takes memory.
inline constexpr std::size_t remote_answer_values_max = 8192;

// A failed request, and when the endpoint allows the next one, if it said so.
struct RemoteError {
  ExecutorError error;
  std::optional<std::int64_t> retry_after_ms;
  bool may_have_arrived = true;
};

template <class T>
using Remote = tl::expected<T, RemoteError>;

// The state of a remote job.
struct RemoteState {
  enum class Kind {
    running,
    finished,  // `result` is the response's body
    gone,      // the endpoint doesn't know the job, or no longer
  };
  Kind kind = Kind::running;
  std::string result;
};

// Any thread. Each request blocks for at most `times` (http_request.h).
class RemoteEndpoint {
 public:
  // `environment` is the server's own, "NAME=VALUE". Used are MODAL_TOKEN_ID, MODAL_TOKEN_SECRET
  // and SSL_CERT_FILE, which OpenSSL defines.
  explicit RemoteEndpoint(const std::vector<std::string>& environment, HttpTimeouts times = {});

  // Checks that the credentials are set. Error: CONFIG_MISSING with the name of the first missing
  // variable; values never appear in errors.
  [[nodiscard]] Executed<void> configured() const;

  // Submits the job and returns its call id. Repeated for the same job, it returns the same call id
  // if the endpoint honours Idempotency-Key.
  [[nodiscard]] Remote<std::string> submit(const Job& job) const;
  // Returns the call id of a submitted job; nullopt if the endpoint doesn't know the job or doesn't
  // support the lookup.
  [[nodiscard]] Remote<std::optional<std::string>> find_call(const Job& job) const;
  // Returns the job's state.
  [[nodiscard]] Remote<RemoteState> ask(const Job& job, const std::string& call_id) const;
  // Requests the end of the call. Returns false if the endpoint doesn't know the call.
  [[nodiscard]] Remote<bool> cancel(const Job& job, const std::string& call_id) const;

 private:
  [[nodiscard]] OutgoingRequest request(const Job& job, std::string method, std::string url) const;
  [[nodiscard]] Remote<HttpResponse> send(const OutgoingRequest& request) const;

  std::string token_id_;
  std::string token_secret_;
  std::string ca_file_;  // PEM file, or empty
  HttpTimeouts times_;
};

}  // namespace signalbox
