// Checks what callers with access tokens may do. The register and the wall clock decide at the
// moment when a request is handled, whatever the connection was allowed before.
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

  // Updates the tokens that the server knows.
  void applied(const Record& record) { follow(record, applied_); }
  // Updates the tokens that are durable.
  void durable(const Record& record) { follow(record, durable_); }
  // Drops what was applied but isn't durable. Requests that were handled before are still answered.
  void rolled_back() { applied_ = durable_; }
  // Like rolled_back(), for a new life of the server: its connections and their requests are gone,
  // too.
  void begin_anew();

  // Notes the expected verdict on a request that is handled now, on a connection that has shown
  // `token`.
  void handled(const std::string& id, const std::optional<Uuid>& token);
  // Checks the answer to the request `id` against the verdicts that are due. `code` is that of the
  // refusal, or empty.
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
  // Returns the code of the refusal that is due, or empty.
  [[nodiscard]] std::string verdict(const SentCommand& sent,
                                    const std::optional<Uuid>& token) const;

  Environment& environment_;
  const CommandBook& book_;
  Tokens applied_;
  Tokens durable_;
  std::map<std::string, std::vector<std::string>> verdicts_;  // by request id; not answered yet
};

}  // namespace signalbox::simulation
