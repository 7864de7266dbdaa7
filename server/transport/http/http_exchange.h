// Handles one HTTP request: passes it to the dispatcher as a JSON-RPC call and turns the
// dispatcher's answer into an HTTP response.
#pragma once

#include <memory>

#include "server/transport/http/http_request.h"
#include "server/transport/http/http_session.h"

namespace signalbox {

// Handles `request`, whose body is complete. Calls session->respond() now or later, or attaches a
// streaming response to the session. Called on the engine thread; doesn't block.
void answer_request(const std::shared_ptr<HttpSession>& session, const RequestedRoute& asked,
                    const HttpRequest& request);

// Returns why `request`, of which only the header was read, is refused before its body is: its
// route calls a method, and its sender isn't authenticated.
std::optional<Rejection> stranger_refusal(const HttpSession& session, const RequestedRoute& asked,
                                          const HttpRequest& request);

// Answers such a request with `why`, once the denial is recorded.
void refuse_stranger(const std::shared_ptr<HttpSession>& session, const RequestedRoute& asked,
                     const Rejection& why);

// A peer of the dispatcher that takes one answer and nothing else.
class SingleResponsePeer : public Peer, public HttpSession::StreamingResponse {
 public:
  explicit SingleResponsePeer(std::shared_ptr<HttpSession> session)
      : session_(std::move(session)) {}

  void expect_answer(std::size_t) override {}
  void answer(std::string line, std::size_t) override;
  void deliver(std::string) override {}
  [[nodiscard]] bool takes_deliveries() const override { return false; }
  bool identify(const std::string& actor) override { return session_->identify(actor); }
  void keep_open() override {}
  [[nodiscard]] std::size_t outgoing_bytes() const override { return 0; }
  void on_drained(std::function<void()>) override {}
  void close_after_flush() override {}
  [[nodiscard]] bool closed() const override { return answered_ || session_->closed(); }
  [[nodiscard]] bool has_gone(bool counts_end_of_output) override {
    return session_->has_gone(counts_end_of_output);
  }
  void on_end() override {}

 protected:
  // Called once with the line that the dispatcher answered with; empty for a notification.
  virtual void on_answer(const std::string& line) = 0;

  [[nodiscard]] HttpSession& session() const { return *session_; }

 private:
  std::shared_ptr<HttpSession> session_;
  bool answered_ = false;
};

// Returns the error in a JSON-RPC answer as a response with problem details.
HttpAnswer problem_of_line(const std::string& line);

}  // namespace signalbox
