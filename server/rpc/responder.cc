#include "server/rpc/responder.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/rpc/error_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

// The SHA-256 of an access token's secret, for which a viewer has no use. Nobody finds the secret
// from it, but who gets hold of a secret can tell which token it is of.
constexpr std::string_view secret_digest_name = "secret_sha256";

bool names_token(std::string_view name) {
  if (name == "token" || name.ends_with(".token")) return true;
  return name.ends_with("_token") && name != "run_token";
}

void hide_tokens_in(boost::json::value& value) {
  if (auto* const object = value.if_object()) return hide_tokens(*object);
  auto* const array = value.if_array();
  if (array == nullptr) return;
  for (boost::json::value& each : *array) hide_tokens_in(each);
}

// Hides the value of an attribute as OTLP has it: {"key": …, "value": {"intValue": "7"}}.
void hide_attribute(boost::json::object& object) {
  const boost::json::value* const key = object.if_contains("key");
  boost::json::value* const value = object.if_contains("value");
  if (key == nullptr || value == nullptr || !key->is_string()) return;
  if (names_token(std::string_view(key->get_string().data(), key->get_string().size()))) {
    *value = nullptr;
  }
}

// Returns true for a shell command that gives a token, such as `signalbox station settle … --token
// 7 …`. Whoever may not see the token may not call the command either.
bool gives_token(const boost::json::value& command) {
  if (!command.is_string()) return false;
  const boost::json::string& text = command.get_string();
  return std::string_view(text.data(), text.size()).find("-token ") != std::string_view::npos;
}

std::string error_line(const std::string& id_text, const boost::json::object& error) {
  std::string line = R"({"jsonrpc":"2.0","id":)";
  line += id_text.empty() ? "null" : id_text;
  line += R"(,"error":)";
  line += boost::json::serialize(error);
  line += '}';
  return line;
}

}  // namespace

void hide_tokens(boost::json::object& object) {
  hide_attribute(object);
  for (auto& entry : object) {
    const bool is_token = entry.value().is_number() && names_token(entry.key());
    if (is_token || (entry.value().is_string() && entry.key() == secret_digest_name)) {
      entry.value() = nullptr;
    } else if (entry.key() == "next_commands" && entry.value().is_array()) {
      boost::json::array& commands = entry.value().get_array();
      commands.erase(std::remove_if(commands.begin(), commands.end(), gives_token), commands.end());
    } else {
      hide_tokens_in(entry.value());
    }
  }
}

Rejection not_durable(const Engine& engine, Durability durability) {
  if (durability == Durability::storage_full) return engine.storage_full_refusal();
  if (durability == Durability::unproved) return engine.unproved_refusal();
  return {ErrorCode::UNKNOWN_OUTCOME,
          "the log could not be written; whether the command was taken will be known after a "
          "restart: repeat it with the same command_id",
          {},
          {"signalbox serve"}};
}

std::string error_line(const std::string& id_text, const Rejection& rejection) {
  return error_line(id_text, rejection_to_json(rejection));
}

void Responder::send(std::string line) const {
  if (ask_again_ && engine_.rollbacks() != rollbacks_) return (*ask_again_)();
  // Whoever only asks doesn't wait for as long as the log is away.
  if (ask_again_ && engine_.is_stuck()) return refuse_at_once(engine_.unproved_refusal());
  Engine::Released answer = [&engine = engine_, peer = peer_, id_text = id_text_, weight = weight_,
                             ask_again = ask_again_,
                             line = std::move(line)](Durability durability) mutable {
    const bool is_old =
        durability == Durability::storage_full || durability == Durability::unproved;
    if (ask_again && is_old) return (*ask_again)();
    const bool as_it_is = durability == Durability::durable || id_text.empty();
    peer->answer(as_it_is ? std::move(line) : error_line(id_text, not_durable(engine, durability)),
                 weight);
  };
  release(std::move(answer));
}

// An answer that says of which moment it is needs no proof.
void Responder::release(Engine::Released action) const {
  if (as_of_ns()) return engine_.release_when_durable(std::move(action));
  engine_.release_when_present(std::move(action), patience_);
}

void Responder::then(std::function<void()> action) const {
  if (ask_again_ && engine_.is_stuck()) return;  // it was refused
  release([action = std::move(action)](Durability durability) {
    if (durability == Durability::durable) action();
  });
}

void Responder::result(boost::json::object object) const {
  result(std::move(object), engine_.world().position);
}

void Responder::result(boost::json::object object, Position shown) const {
  send(result_line(std::move(object), shown));
}

// Returns the empty line for a notification, whose answer nobody reads.
std::string Responder::result_line(boost::json::object object, Position shown) const {
  if (id_text_.empty()) return {};
  if (hides_tokens_) signalbox::hide_tokens(object);
  object["position"] = shown;
  if (const auto as_of_ns = this->as_of_ns()) object.emplace("as_of", format_time(*as_of_ns));
  std::string line = R"({"jsonrpc":"2.0","id":)";
  line += id_text_;
  line += R"(,"result":)";
  line += boost::json::serialize(object);
  line += '}';
  return line;
}

std::function<void()> Responder::prepare(Decided<boost::json::object> outcome,
                                         Position shown) const {
  if (!outcome) {
    return [responder = *this, why = std::move(outcome).error()] { responder.reject(why); };
  }
  const bool was_present = !as_of_ns();
  return
      [responder = *this, was_present, line = result_line(*std::move(outcome), shown)]() mutable {
        // It was made as one of the present, and nobody can know any more whether that is so.
        if (was_present && responder.as_of_ns() && responder.ask_again_) {
          return (*responder.ask_again_)();
        }
        responder.relay(std::move(line));
      };
}

void Responder::result_text(std::string object, Position shown) const {
  if (id_text_.empty()) return send({});
  object.pop_back();
  std::string line = R"({"jsonrpc":"2.0","id":)";
  line += id_text_;
  line += R"(,"result":)";
  line += object;
  line += R"(,"position":)";
  line += std::to_string(shown);
  if (const auto as_of_ns = this->as_of_ns()) {
    line += R"(,"as_of":")" + format_time(*as_of_ns) + '"';
  }
  line += "}}";
  send(std::move(line));
}

void Responder::result_at_once(boost::json::object object) const {
  if (const auto since_ns = engine_.overdue_since_ns(); since_ns && !as_of_ns()) {
    object["as_of"] = format_time(*since_ns);
  }
  peer_->answer(result_line(std::move(object), engine_.durable_position()), weight_);
}

void Responder::refuse_at_once(const Rejection& rejection) const {
  peer_->answer(id_text_.empty() ? std::string() : signalbox::error_line(id_text_, rejection),
                weight_);
}

void Responder::relay(std::string line) const { send(std::move(line)); }

void Responder::reject(const Rejection& rejection) const {
  if (rejection.code == ErrorCode::FORBIDDEN && !method_.empty()) {
    // If the log has no space for it, the request is rejected all the same.
    (void)engine_.begin({actor_, {}, {}})
        .apply(NoteAccessDenied{actor_, std::string(method_), role_, Role::admin});
  }
  if (id_text_.empty()) return send({});
  boost::json::object error = rejection_to_json(rejection);
  // What isn't there may be there at the server that takes commands. That one takes none is true
  // now.
  const bool is_of_state =
      rejection.code != ErrorCode::NOT_ACTIVE && rejection.code != ErrorCode::STORAGE_AWAY;
  if (const auto as_of_ns = this->as_of_ns(); as_of_ns && is_of_state) {
    error["data"].as_object()["details"].as_object()["as_of"] = format_time(*as_of_ns);
  }
  if (hides_tokens_) signalbox::hide_tokens(error);
  send(error_line(id_text_, error));
}

void Responder::answer(Decided<boost::json::object> outcome) const {
  answer(std::move(outcome), engine_.world().position);
}

void Responder::answer(Decided<boost::json::object> outcome, Position shown) const {
  if (outcome) {
    result(std::move(*outcome), shown);
  } else {
    reject(outcome.error());
  }
}

}  // namespace signalbox
