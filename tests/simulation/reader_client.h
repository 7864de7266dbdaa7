// A client that only looks, with several requests at once on one connection: it sends them without
// waiting for answers, which come in any order, twice, or never. AnswerJudge compares what it is
// shown with the log. L2 T3 S1
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class ReaderClient final : public Client, public Recipient {
 public:
  using Client::Client;

  void begin() override { later(between(0, 2000), &ReaderClient::look); }
  void receive(const std::string& line) override;

 private:
  // Sends some questions at once.
  void look();
  void send_question();
  void look_again();
  void forget() override { open_.clear(); }

  std::set<std::string> open_;   // ids of requests without an answer
  std::uint64_t questions_ = 0;  // so far
  std::uint64_t bursts_ = 0;     // so far
};

}  // namespace signalbox::simulation
