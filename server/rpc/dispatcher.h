// Routes requests: parses a line, checks the caller's role and calls the method's handler. All of
// it is called on the engine's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "server/access/principal.h"
#include "server/rpc/method.h"

namespace signalbox {

struct Request;
struct Requester;

class Dispatcher {
 public:
  Dispatcher(Api& api, std::vector<Method> methods);

  // Handles one line from `peer` and answers there, now or later. FORBIDDEN if the method needs
  // more than the principal's role, or if it isn't for jobs.
  void handle(std::string_view line, const Principal& principal, const std::shared_ptr<Peer>& peer);
  // Handles one line from an unauthenticated peer. The answer is `why`, the rejection that
  // Authentication returned, except for server.authenticate, the one method that needs no role.
  void handle_unknown(std::string_view line, const std::string& actor, const Rejection& why,
                      const std::shared_ptr<Peer>& peer);

  // Answers a request of an unauthenticated peer that wasn't read, as handle_unknown() would.
  // `method` is empty if it isn't known either.
  void refuse_unread(std::string_view method, const std::string& actor, const Rejection& why,
                     const std::shared_ptr<Peer>& peer);

  // Answers one line with `why`, whatever it asks for. Nothing is recorded.
  void refuse(std::string_view line, const Rejection& why, const std::shared_ptr<Peer>& peer);

  // Rejects every further request with `why`.
  void refuse_all(Rejection why) { refusal_ = std::move(why); }

  // Returns the dispatch table, in the order that was given.
  [[nodiscard]] const std::vector<Method>& methods() const { return methods_; }

 private:
  // Handles one line: what it takes until the handler of its method has it.
  void route(std::string_view line, const Requester& requester, const std::shared_ptr<Peer>& peer);
  // Returns the rejection of a request for a method that there isn't.
  [[nodiscard]] Rejection unknown_method(const Request& request, const Requester& requester) const;
  // Has a query asked again instead of answered, should what its answer says be rolled back; one
  // that isn't kept for that is refused.
  void prepare_roll_back(std::string_view line, const Requester& requester,
                         const std::shared_ptr<Peer>& peer, Responder& responder,
                         Patience patience);
  // Returns why the requester may not make this call, and records that as AccessDenied; nullopt if
  // it may.
  [[nodiscard]] std::optional<Rejection> deny(const Method& method,
                                              const boost::json::object& params,
                                              const Requester& requester);
  // Returns why the method can't be carried out now, whoever asks; nullopt if it can.
  [[nodiscard]] std::optional<Rejection> why_not_now(const Method& method,
                                                     const boost::json::object& params) const;
  // Has a query answered about a moment of the past.
  void ask_past(const std::string& moment, const Request& request, const Principal& principal,
                const Responder& responder);

  Api& api_;
  std::optional<Rejection> refusal_;
  const std::vector<Method> methods_;
  boost::unordered_flat_map<std::string_view, const Method*> by_name_;
};

}  // namespace signalbox
