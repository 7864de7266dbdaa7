// The answer to one request: exactly one result or rejection, sent when the events that it reports
// are durable. Called on the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>

#include "domain/access.h"
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
      : engine_(engine),
        peer_(std::move(peer)),
        id_text_(std::move(id_text)),
        weight_(weight),
        rollbacks_(engine.rollbacks()),
        holds_(engine.holds()),
        as_of_ns_(engine.as_of_ns()) {
    peer_->expect_answer(weight_);
  }

  // For queries: calls `ask_again` instead of sending an answer that may report rolled back events:
  // one that was made on another thread, or that waited, while the world was rolled back. The same
  // for an answer about the present that waited for a proof which doesn't come (PresentProof), or
  // for commits for longer than `patience`.
  void when_rolled_back(std::function<void()> ask_again, Patience patience = Patience::query) {
    patience_ = patience;
    ask_again_ = std::make_shared<const std::function<void()>>(std::move(ask_again));
  }

  // Returns whether this is the answer to a query.
  [[nodiscard]] bool asks() const { return ask_again_ != nullptr; }
  // Returns whether this is a query that what was read for it may be too old for: the log was away
  // since it came, and nobody waited for what that may never have (Projector::roll_back()).
  [[nodiscard]] bool may_be_old() const {
    return ask_again_ != nullptr && engine_.holds() != holds_;
  }
  // Has such a query asked again.
  void ask_again() const { (*ask_again_)(); }

  // For queries: says who asks, for turns (QueryTurns). Others take no turns.
  void set_caller(std::string caller) { caller_ = std::move(caller); }
  [[nodiscard]] const std::string& caller() const { return caller_; }

  // For viewers: hides every token in the answer (see hide_tokens() below).
  void hide_tokens() { hides_tokens_ = true; }
  [[nodiscard]] bool hides_tokens() const { return hides_tokens_; }

  // Records a rejection with FORBIDDEN, such as for the token of somebody else, as AccessDenied.
  // `method` outlives the responder.
  void note_denials(std::string_view method, std::string actor, Role role) {
    method_ = method;
    actor_ = std::move(actor);
    role_ = role;
  }

  // Answers with `object` and adds `position`, the engine's at this moment: for what the engine's
  // thread has just taken from the world. If the engine doesn't show the present, `as_of` is added.
  void result(boost::json::object object) const;
  // The same for an object that shows the state after `shown`, an earlier position.
  void result(boost::json::object object, Position shown) const;
  // Makes the answer into text on the calling thread, which may be any: as text a large one keeps
  // the engine's thread busy for long. Returns what sends it, to be called on the engine's thread.
  [[nodiscard]] std::function<void()> prepare(Decided<boost::json::object> outcome,
                                              Position shown) const;
  // The same as result() for an object that is JSON text already, because it is made often.
  // `object` isn't empty.
  void result_text(std::string object, Position shown) const;
  // Sends `line`, a whole response to a request with the same id that another dispatcher made.
  void relay(std::string line) const;
  void reject(const Rejection& rejection) const;
  // Do the same as result() and reject(), without a wait for what was applied before: for what says
  // nothing of the log but how far it is durable.
  void result_at_once(boost::json::object object) const;
  void refuse_at_once(const Rejection& rejection) const;
  void answer(Decided<boost::json::object> outcome) const;
  void answer(Decided<boost::json::object> outcome, Position shown) const;

  // Calls `action` once the result that was given just before was sent; never if a refusal was sent
  // in its place, or the query is asked again.
  void then(std::function<void()> action) const;

  [[nodiscard]] const std::shared_ptr<Peer>& peer() const { return peer_; }

 private:
  // Returns the moment (UTC, ns) of which the answer shows the state; nullopt: the present. What
  // was asked of a server that didn't have the present may show what it had then, though it has
  // since taken over.
  [[nodiscard]] std::optional<std::int64_t> as_of_ns() const {
    return as_of_ns_ ? as_of_ns_ : engine_.as_of_ns();
  }
  [[nodiscard]] std::string result_line(boost::json::object object, Position shown) const;
  void send(std::string line) const;
  // Calls `action` once an answer may be sent that is made now.
  void release(Engine::Released action) const;

  Engine& engine_;
  std::shared_ptr<Peer> peer_;
  std::string id_text_;
  std::size_t weight_;
  std::uint64_t rollbacks_;               // of the engine, when the request came
  std::uint64_t holds_;                   // likewise
  std::optional<std::int64_t> as_of_ns_;  // likewise
  bool hides_tokens_ = false;
  std::string caller_;       // empty: not known, or no query
  std::string_view method_;  // empty: denials aren't recorded here
  std::string actor_;
  Role role_ = Role::viewer;
  std::shared_ptr<const std::function<void()>> ask_again_;  // or nullptr
  Patience patience_ = Patience::unlimited;
};

// Hides the fencing tokens in an answer or a notification, at any depth: the numbers under the
// names `token`, `lock_token`, `signalbox.lock.token` and the like, and the attributes of these
// names in a trace of OTLP, become null; `next_commands` that give a token are left out. A run's
// own `run_token` isn't a token: it is the position of its start. The digests of access tokens'
// secrets (`secret_sha256`) become null as well.
void hide_tokens(boost::json::object& object);

// Returns the rejection for a command whose events didn't become durable: STORAGE_FULL or
// UNKNOWN_OUTCOME.
Rejection not_durable(const Engine& engine, Durability durability);

// Returns {"jsonrpc":"2.0","id":…,"error":{…}} as one line; an empty `id_text` becomes null.
std::string error_line(const std::string& id_text, const Rejection& rejection);

}  // namespace signalbox
