// A client that asks one thing at a time, and again under the same command id until it is answered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "tests/simulation/network.h"

namespace signalbox::simulation {

struct Reply {
  std::string code;  // of the refusal; empty: here is the result
  boost::json::object result;
  boost::json::object details;  // of the refusal
};

class Caller final : public Recipient {
 public:
  using Answer = std::function<void(const Reply&)>;

  Caller(Environment& environment, Network& network, CommandBook& book, std::string name)
      : environment_(environment), network_(network), book_(book), name_(std::move(name)) {}

  // `patience_ms` is how long an answer may take before the question is repeated. A client that has
  // given up hears GAVE_UP.
  void ask(const std::string& method, const boost::json::object& params, std::int64_t patience_ms,
           Answer answer);
  // The client doesn't care any more.
  void forget() { answer_ = nullptr; }
  // Asks the last thing again, as a client does that lost its memory of the answer.
  void repeat_last();

  void receive(const std::string& line) override;
  [[nodiscard]] std::string address() const override { return address_; }
  // Not from this machine, whose user it would be.
  void comes_from(std::string address) { address_ = std::move(address); }
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
  std::string method_;  // of the latest question
  std::string id_;      // of the latest question
  std::string line_;    // that question
  std::int64_t patience_ns_ = 0;
  Answer answer_;            // of the question that is open; none: it is closed
  std::uint64_t tries_ = 0;  // over all questions
  std::uint64_t questions_ = 0;
};

}  // namespace signalbox::simulation
