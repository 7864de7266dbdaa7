// From a request that was read to its answer: what the dispatcher answers becomes an answer of
// HTTP.
#pragma once

#include <memory>

#include "server/transport/http/http_request.h"
#include "server/transport/http/http_session.h"

namespace signalbox {

// Calls session->respond(), now or later, or begins what takes the connection over.
void answer_request(const std::shared_ptr<HttpSession>& session, const AskedRoute& asked,
                    const HttpRequest& request);

// The session as a peer of the dispatcher that takes one answer and nothing else.
class OneAnswerPeer : public Peer, public HttpSession::StreamingResponse {
 public:
  explicit OneAnswerPeer(std::shared_ptr<HttpSession> session) : session_(std::move(session)) {}

  void expect_answer(std::size_t) override {}
  void answer(std::string line, std::size_t) override;
  void deliver(std::string) override {}
  [[nodiscard]] bool takes_deliveries() const override { return false; }
  void keep_open() override {}
  [[nodiscard]] std::size_t outgoing_bytes() const override { return 0; }
  void on_drained(std::function<void()>) override {}
  void close_after_flush() override {}
  [[nodiscard]] bool closed() const override { return answered_ || session_->closed(); }
  void on_end() override {}

 protected:
  // The whole line that the dispatcher answered with; empty for a notification.
  virtual void on_answer(const std::string& line) = 0;

  [[nodiscard]] HttpSession& session() const { return *session_; }

 private:
  std::shared_ptr<HttpSession> session_;
  bool answered_ = false;
};

// The answer as a problem, from a line that holds an error.
HttpAnswer problem_of_line(const std::string& line);

}  // namespace signalbox
