#include "tests/simulation/access_watch.h"

#include <algorithm>
#include <set>

#include "store/sha256.h"

namespace signalbox::simulation {
namespace {

// Returns the role that a method of our callers needs.
Role needed_for(const std::string& method) {
  static const std::map<std::string, Role> needs{
      {"run.list", Role::viewer},  {"server.status", Role::viewer}, {"lock.acquire", Role::worker},
      {"step.next", Role::worker}, {"run.resume", Role::operator_}, {"plan.reset", Role::operator_},
      {"access.list", Role::admin}};
  return needs.at(method);
}

bool is_about_access(const std::string& code) {
  return code == "UNAUTHENTICATED" || code == "FORBIDDEN";
}

// Returns true for refusals that come before a caller's access is checked, whoever asks.
bool concerns_all(const std::string& code) {
  static const std::set<std::string> codes{"SHUTTING_DOWN", "OVERLOADED", "UNKNOWN_OUTCOME",
                                           "STORAGE_FULL"};
  return codes.contains(code);
}

}  // namespace

void AccessWatch::follow(const Record& record, Tokens& tokens) {
  if (const auto* issued = event_as<AccessTokenIssued>(record.event)) {
    tokens[issued->id] = {issued->role, issued->secret_sha256, issued->expires_at_ns};
  } else if (const auto* revoked = event_as<AccessTokenRevoked>(record.event)) {
    tokens.at(revoked->id).revoked = true;
  }
}

void AccessWatch::begin_anew() {
  applied_ = durable_;
  verdicts_.clear();
}

bool AccessWatch::usable(const Token& token) const {
  return !token.revoked &&
         (!token.expires_at_ns || environment_.schedule.wall_ns() < *token.expires_at_ns);
}

std::string AccessWatch::verdict(const SentCommand& sent, const std::optional<Uuid>& id) const {
  if (sent.method == "server.authenticate") {
    const Digest digest = sha256(std::string(sent.params.at("secret").as_string()));
    const bool known = std::any_of(applied_.begin(), applied_.end(), [&](const auto& entry) {
      return entry.second.secret_sha256 == digest && usable(entry.second);
    });
    return known ? "" : "UNAUTHENTICATED";
  }
  const auto place = id ? applied_.find(*id) : applied_.end();
  if (place == applied_.end() || !usable(place->second)) return "UNAUTHENTICATED";
  return place->second.role >= needed_for(sent.method) ? "" : "FORBIDDEN";
}

void AccessWatch::handled(const std::string& id, const std::optional<Uuid>& token) {
  verdicts_[id].push_back(verdict(*book_.find(id), token));
}

void AccessWatch::answered(const std::string& id, const std::string& code) {
  const auto place = verdicts_.find(id);
  if (place == verdicts_.end()) return;  // the caller needs no token
  if (concerns_all(code)) return;        // any of the request's repetitions may be meant
  std::vector<std::string>& due = place->second;
  const auto fitting = std::find(due.begin(), due.end(), is_about_access(code) ? code : "");
  if (fitting == due.end()) {
    const SentCommand& sent = *book_.find(id);
    return environment_.violate(id + " (" + sent.method + ") was answered '" + code +
                                "', and should have been '" + (due.empty() ? "?" : due.back()) +
                                "'");
  }
  due.erase(fitting);
}

}  // namespace signalbox::simulation
