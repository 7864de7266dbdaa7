// Sends one request at a time and repeats it under the same command id until it is answered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "tests/simulation/network.h"

namespace signalbox::simulation {

// The answer to a request: a result, or a refusal.
struct Reply {
  std::string code;  // of the refusal; empty if there is a result
  boost::json::object result;
  boost::json::object details;  // of the refusal
};

// Returns true for refusals that any request may meet and that don't decide it, so that it is worth
// a repetition.
bool is_of_any_request(const std::string& code);
// Returns true for a refusal that says that a retention dropped what the request is about: the
// first result of the same command, or its run or card. It is as if no answer had come.
bool is_about_dropped(const DroppedHistory& dropped, const std::string& code,
                      const boost::json::object& params);

class Caller final : public Recipient {
 public:
  using Answer = std::function<void(const Reply&)>;

  Caller(Environment& environment, Network& network, CommandBook& book, std::string name)
      : environment_(environment), network_(network), book_(book), name_(std::move(name)) {}

  // Sends a request and calls `answer` once. The request is repeated after `patience_ms` without an
  // answer. A client that gives up gets the code GAVE_UP.
  void ask(const std::string& method, const boost::json::object& params, std::int64_t patience_ms,
           Answer answer);
  // Drops the open request; its answer will be ignored.
  void forget() { answer_ = nullptr; }
  // Sends the last request again if it was answered, as a client does that lost its memory of the
  // answer.
  void repeat_last();

  void receive(const std::string& line) override;
  [[nodiscard]] std::string address() const override { return address_; }
  // Makes the caller one from another machine, which isn't the server's own user.
  void set_address(std::string address) { address_ = std::move(address); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& last_method() const { return method_; }

 private:
  void send();
  void send_later(std::int64_t delay_ns);
  void finish(const Reply& reply);

  Environment& environment_;
  Network& network_;
  CommandBook& book_;
  std::string name_;
  std::string address_;
  std::string method_;  // of the latest request
  std::string id_;      // of the latest request
  std::string line_;    // the latest request as it was sent
  std::int64_t patience_ns_ = 0;
  Answer answer_;            // null if no request is open
  std::uint64_t tries_ = 0;  // over all requests
  std::uint64_t questions_ = 0;
};

}  // namespace signalbox::simulation
