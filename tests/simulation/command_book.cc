#include "tests/simulation/command_book.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "domain/free_text.h"

namespace signalbox::simulation {
namespace {

// A text may have become another one from its begin on, or after the code that it begins with, or
// from one of its later lines on: what failed before is named first, and then told.
bool same_text_but_for_redactions(std::string_view one, std::string_view other) {
  if (one == other || is_blank(one) || is_blank(other)) return true;
  const auto common_end = std::ranges::mismatch(one, other).in1 - one.begin();
  const std::string_view common = one.substr(0, static_cast<std::size_t>(common_end));
  for (const std::string_view separator : {"\n", ": "}) {
    for (auto at = common.find(separator); at != std::string_view::npos;
         at = common.find(separator, at + 1)) {
      const std::size_t begin = at + separator.size();
      if (is_blank(one.substr(begin)) || is_blank(other.substr(begin))) return true;
    }
  }
  return false;
}

// Returns whether the answers are the same but for texts that were redacted between them.
bool same_but_for_redactions(const boost::json::value& one, const boost::json::value& other) {
  if (one == other) return true;
  if (one.is_string() && other.is_string()) {
    return same_text_but_for_redactions(one.get_string(), other.get_string());
  }
  if (one.is_array() && other.is_array()) {
    return std::ranges::equal(one.get_array(), other.get_array(), same_but_for_redactions);
  }
  if (!one.is_object() || !other.is_object()) return false;
  const boost::json::object& members = other.get_object();
  return one.get_object().size() == members.size() &&
         std::ranges::all_of(one.get_object(), [&members](const auto& member) {
           const boost::json::value* same = members.if_contains(member.key());
           return same != nullptr && same_but_for_redactions(member.value(), *same);
         });
}

}  // namespace

bool reports_events(const std::string& method, const boost::json::object& result) {
  static const std::set<std::string> queries{
      "run.get",     "run.list",      "events.subscribe", "lock.get",
      "lock.list",   "tick.list",     "server.status",    "plan.get",
      "plan.list",   "run.why",       "access.list",      "server.authenticate",
      "project.get", "project.list",  "card.get",         "card.list",
      "card.why",    "loop.trigger",  "loop.list",        "server.in_flight",
      "runner.list", "watchdog.check"};  // what the last one reports may be the doing of another
  if (queries.contains(method)) return false;
  if (method == "run.pause" || method == "run.resume" || method == "project.put" ||
      method == "card.block" || method == "card.unblock" || method == "card.set_priority" ||
      method == "server.pause" || method == "server.resume" || method == "runner.drain" ||
      method == "runner.evict") {
    return result.at("changed").as_bool();
  }
  if (method == "lock.release") return result.at("released").as_bool();
  if (method == "tick.recover") return result.at("recovered").as_bool();
  if (method == "run.start") return !result.at("replayed").as_bool();
  if (method == "run.cancel") return !result.contains("replayed");
  if (method == "station.claim") return !result.at("claim").is_null();
  if (method == "step.next") return !result.at("step").is_null();
  if (method == "plan.reset") return result.at("reset").as_bool();
  if (method == "audit.adopt_key") return result.at("adopted").as_bool();
  if (method == "access.revoke") return result.at("revoked").as_bool();
  if (method == "station.set_external_ref") return result.at("changed").as_bool();
  if (method == "station.request_approval") return result.at("requested").as_bool();
  return true;
}

void CommandBook::sent(const std::string& id, const std::string& method,
                       const boost::json::object& params, bool has_id) {
  SentCommand command{method, params, 0, std::nullopt, has_id};
  if (const auto* token = params.if_contains("token")) command.token = token->to_number<Token>();
  commands_.emplace(id, std::move(command));
}

const SentCommand* CommandBook::find(const std::string& id) const {
  const auto place = commands_.find(id);
  return place == commands_.end() ? nullptr : &place->second;
}

bool CommandBook::any_sent(const std::function<bool(const SentCommand&)>& is_it) const {
  return std::ranges::any_of(commands_, [&is_it](const auto& each) { return is_it(each.second); });
}

bool CommandBook::repeats(const boost::json::object& first,
                          const boost::json::object& result) const {
  return environment_.redacts ? same_but_for_redactions(first, result) : first == result;
}

bool CommandBook::answered(const std::string& id, boost::json::object result) {
  const auto place = commands_.find(id);
  if (place == commands_.end()) {
    environment_.violate("an answer to " + id + ", which nobody sent");
    return false;
  }
  SentCommand& command = place->second;
  // A repeated command gets the first result, except for `position`, `as_of`, `replayed`, and a
  // secret, which is given once.
  result.erase("position");
  result.erase("as_of");
  const auto* secret = result.if_contains("secret");
  if (secret != nullptr && !secret->is_null() && command.result) {
    environment_.violate("the secret of " + id + " was told twice");
  }
  result.erase("secret");
  const bool has_events =
      command.has_id && (command.result || reports_events(command.method, result));
  result.erase("replayed");
  if (!has_events) return false;
  if (!command.result) {
    command.result = std::move(result);
    ++acknowledged_;
  } else if (!repeats(*command.result, result)) {
    environment_.violate("command " + id + " (" + command.method + ") was first answered " +
                         boost::json::serialize(*command.result) + " and then " +
                         boost::json::serialize(result));
  }
  return true;
}

}  // namespace signalbox::simulation
