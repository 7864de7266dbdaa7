#include "tests/simulation/follower.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "store/codec.h"
#include "tests/simulation/caller.h"
#include "tests/simulation/follower_connection.h"
#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

// Lists of read models are answered once these have caught up, which others cause.
constexpr std::int64_t list_patience_ns = 20 * ns_per_s;

// Each mutant has to be found by the judge that it was made for, so that others have no followers.
bool has_followers(Mutant mutant) {
  constexpr std::array own{Mutant::none, Mutant::subscription_late, Mutant::event_before_commit,
                           Mutant::slow_reader_skipped, Mutant::list_of_later_position};
  return std::find(own.begin(), own.end(), mutant) != own.end();
}

// Returns true for a notification that the history which is to come next was dropped.
bool says_history_dropped(const json::object& failed) {
  const json::value* code = failed.if_contains("code");
  return code != nullptr && *code == "HISTORY_DROPPED";
}

json::array all_event_types() {
  json::array types;
  for (const EventTag& tag : event_tags()) types.emplace_back(tag.name);
  return types;
}

}  // namespace

Followers::Followers(Environment& environment, Oracle& oracle, const EventLog& log) {
  if (!has_followers(environment.mutant)) return;
  followers_.push_back(
      std::make_unique<Follower>(environment, oracle, log, book_, "follower-a", Follower::Types{}));
  followers_.push_back(std::make_unique<Follower>(
      environment, oracle, log, book_, "follower-b",
      Follower::Types{"LockAcquired", "LockReleased", "LockExpired", "TickStarted"}));
}

Follower::Follower(Environment& environment, Oracle& oracle, const EventLog& log,
                   DeliveryBook& book, std::string name, Types types)
    : environment_(environment),
      random_(environment.reading_random),
      oracle_(oracle),
      log_(log),
      book_(book),
      name_(std::move(name)),
      types_(std::move(types)) {}

// What the server has sent may arrive after its end, but for the last of it.
void Follower::connect(SimulatedServer* server, Owner life) {
  server_ = server;
  life_ = life;
  if (connection_ == nullptr) return;
  connection_->close(random_.below(64));
}

void Follower::finished() {
  book_.read_on(log_);
  const auto missed = book_.next(next_, types_);
  environment_.expect(next_ != 0, name_ + " never got a list");
  environment_.expect(next_ == 0 || !missed,
                      name_ + " never gets #" + std::to_string(missed.value_or(0)));
}

std::int64_t Follower::pause_ms() {
  if (calm()) return 100;
  return random_.one_in(15) ? random_.between(2000, 8000) : random_.between(20, 400);
}

void Follower::step() {
  environment_.reading.after(pause_ms() * ns_per_ms, outside, [this] { step(); });
  if (connection_ == nullptr) {
    if (server_ != nullptr && (calm() || random_.one_in(3))) open();
    return;
  }
  std::int64_t lines = calm() ? std::numeric_limits<std::int64_t>::max() : random_.between(1, 60);
  while (lines-- > 0 && connection_ != nullptr) {
    const auto line = connection_->take();
    if (!line) break;
    if (line->method.empty()) {
      answered(line->content);
    } else if (line->method == "event") {
      follow(line->content);
    } else if (line->method == "failed" && says_history_dropped(line->content)) {
      // What it was owed next, or something after that, was dropped.
      const Horizon& horizon = environment_.dropped.horizon;
      lose_history(next_ != 0 && next_ <= horizon.position &&
                   horizon.first_dropped(next_, horizon.position).has_value());
    } else if (line->method == "lagged" || line->method == "failed") {
      environment_.violate(name_ + " is cut off: " + json::serialize(line->content));
    }
  }
  if (connection_ == nullptr) return;
  if (connection_->closed()) {
    if (connection_->empty()) leave();
  } else if (!asked_.empty()) {
    if (environment_.reading.monotonic_ns() - asked_at_ns_ > list_patience_ns) leave();
  } else if (!calm() && random_.one_in(50)) {
    leave();
  } else if (!calm() && random_.one_in(20)) {
    list();
  }
}

// Some connections are full after a few lines.
void Follower::open() {
  connection_ = std::make_shared<FollowerConnection>(environment_, log_, book_, life_,
                                                     random_.one_in(2) ? 512 : 64 * 1024);
  const bool forgets = !calm() && random_.one_in(4);
  if (next_ == 0 || forgets) {
    list();
  } else {
    subscribe();
  }
}

void Follower::leave() {
  connection_->close(0);
  connection_ = nullptr;
  subscribed_ = false;
  asked_.clear();
}

// Read models are asked only about what is durable: another question would keep those that come
// later waiting, and so change their course.
void Follower::list() {
  constexpr std::array lists{"lock.list", "run.list", "tick.list", "card.list"};
  const bool from_world = calm() || !server_->engine().idle();
  send(from_world ? lists.front() : random_.any_of(lists), {});
}

void Follower::subscribe() {
  json::object params{{"from", next_}};
  json::array types(types_.begin(), types_.end());
  // Without types the broadcasts come as well.
  if (types_.empty() && !random_.one_in(4)) types = all_event_types();
  if (!types.empty()) params["types"] = std::move(types);
  send("events.subscribe", params);
}

void Follower::send(const std::string& method, const json::object& params) {
  asked_ = method;
  asked_at_ns_ = environment_.reading.monotonic_ns();
  id_ = name_ + "-" + std::to_string(++requests_);
  environment_.note(name_ + " asks for " + method + " and is at #" + std::to_string(next_));
  server_->receive_reading(
      json::serialize(
          json::object{{"jsonrpc", "2.0"}, {"id", id_}, {"method", method}, {"params", params}}),
      name_, connection_);
}

void Follower::lose_history(bool is_true) {
  environment_.note(name_ + " hears at #" + std::to_string(next_) + " that history was dropped");
  environment_.expect(is_true, name_ + " hears at #" + std::to_string(next_) +
                                   " that history was dropped, and it is there");
  next_ = 0;
  leave();
}

// The connection may be closed by now; what was read of it counts.
void Follower::answered(const json::object& answer) {
  const std::string method = std::exchange(asked_, {});
  if (answer.at("id").as_string() != id_) {
    return environment_.violate(name_ + " gets another answer than that to " + id_);
  }
  if (const json::value* error = answer.if_contains("error")) {
    const std::string code(error->at("data").at("code").as_string());
    if (code == "HISTORY_DROPPED") {
      return lose_history(method == "events.subscribe" &&
                          next_ <= environment_.dropped.horizon.position);
    }
    environment_.expect(is_of_any_request(code), id_ + " (" + method + ") was refused: " + code);
    return leave();
  }
  const json::object& result = answer.at("result").as_object();
  if (method == "events.subscribe") {
    subscribed_ = true;
    return;
  }
  oracle_.listed(id_, method, result);
  if (subscribed_) return;
  next_ = result.at("position").to_number<Position>() + 1;
  if (!connection_->closed()) subscribe();
}

void Follower::follow(const json::object& event) {
  const auto position = event.at("position").to_number<Position>();
  environment_.expect(subscribed_, name_ + " gets events before its subscription is answered");
  const auto due = book_.next(next_, types_);
  if (due != position) {
    return environment_.violate(name_ + " is sent #" + std::to_string(position) +
                                ", and the next one is " +
                                (due ? "#" + std::to_string(*due) : std::string("none")));
  }
  const DeliveryBook::Entry& record = book_.at(position);
  environment_.expect(event.at("type").as_string() == record.type &&
                          event.at("stream").as_string() == record.stream,
                      name_ + " is shown another record than #" + std::to_string(position));
  next_ = position + 1;
}

}  // namespace signalbox::simulation
