// The answer to one request: exactly one result or rejection, sent when the events that it reports
// are durable. Called on the engine's thread.
#pragma once

#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "server/engine/engine.h"
#include "server/rpc/peer.h"

namespace signalbox {

class Responder {
 public:
  // `id_text` is the request's id as JSON text. It is empty for a notification, which gets no
  // answer but counts as unanswered until then all the same. `weight` is as in
  // Peer::expect_answer().
  Responder(Engine& engine, std::shared_ptr<Peer> peer, std::string id_text, std::size_t weight = 1)
      : engine_(engine), peer_(std::move(peer)), id_text_(std::move(id_text)), weight_(weight) {
    peer_->expect_answer(weight_);
  }

  // For queries: calls `ask_again` instead of sending an answer that reports rolled back events.
  void when_rolled_back(std::function<void()> ask_again) {
    ask_again_ = std::make_shared<const std::function<void()>>(std::move(ask_again));
  }

  // Answers with `object` and adds `position`, the engine's at this moment.
  void result(boost::json::object object) const;
  void reject(const Rejection& rejection) const;
  void answer(Decided<boost::json::object> outcome) const;

  [[nodiscard]] const std::shared_ptr<Peer>& peer() const { return peer_; }

 private:
  void send(std::string line) const;

  Engine& engine_;
  std::shared_ptr<Peer> peer_;
  std::string id_text_;
  std::size_t weight_;
  std::shared_ptr<const std::function<void()>> ask_again_;  // or nullptr
};

// Returns the rejection for a command whose events didn't become durable: STORAGE_FULL or
// UNKNOWN_OUTCOME.
Rejection not_durable(const Engine& engine, Durability durability);

// Returns {"jsonrpc":"2.0","id":…,"error":{…}} as one line; an empty `id_text` becomes null.
std::string error_line(const std::string& id_text, const Rejection& rejection);

}  // namespace signalbox
