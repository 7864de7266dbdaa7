// Who may what, for callers that come with access tokens: as the register and the wall clock say at
// the moment when the request is handled, whatever their connection could do before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/event.h"
#include "tests/simulation/command_book.h"

namespace signalbox::simulation {

class AccessWatch {
 public:
  AccessWatch(Environment& environment, const CommandBook& book)
      : environment_(environment), book_(book) {}

  void applied(const Record& record) { follow(record, applied_); }
  void durable(const Record& record) { follow(record, durable_); }
  // What was applied and not durable is gone; who has asked is answered still.
  void rolled_back() { applied_ = durable_; }
  // So are all connections.
  void begin_anew();

  // A caller's request is handled now, on a connection that has shown this token.
  void handled(const std::string& id, const std::optional<Uuid>& token);
  // What it is answered with: the code of a refusal, or empty.
  void answered(const std::string& id, const std::string& code);

 private:
  struct Token {
    Role role;
    Digest secret_sha256;
    std::optional<std::int64_t> expires_at_ns;
    bool revoked = false;
  };
  using Tokens = std::map<Uuid, Token>;

  static void follow(const Record& record, Tokens& tokens);
  [[nodiscard]] bool usable(const Token& token) const;
  // The code of the refusal that there has to be, or empty.
  [[nodiscard]] std::string verdict(const SentCommand& sent,
                                    const std::optional<Uuid>& token) const;

  Environment& environment_;
  const CommandBook& book_;
  Tokens applied_;
  Tokens durable_;
  std::map<std::string, std::vector<std::string>> verdicts_;  // not answered yet, by id
};

}  // namespace signalbox::simulation
