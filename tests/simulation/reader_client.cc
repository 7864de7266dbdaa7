#include "tests/simulation/reader_client.h"

#include <array>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t reader_patience_ms = 1500;
constexpr std::int64_t questions_at_once_max = 6;

}  // namespace

void ReaderClient::look() {
  if (calm()) return;
  open_.clear();
  const std::int64_t count = between(1, questions_at_once_max);
  for (std::int64_t number = 0; number < count; ++number) send_question();
  environment_.schedule.after(reader_patience_ms * ns_per_ms, outside, [this, burst = ++bursts_] {
    if (burst == bursts_) look_again();
  });
}

// The patience of the burst before has no say any more.
void ReaderClient::look_again() {
  ++bursts_;
  later(between(200, 3000), &ReaderClient::look);
}

void ReaderClient::send_question() {
  constexpr std::array keys{"deploy", "main", "nightly", "release notes", "guests"};
  const json::object of_key{{"key", environment_.random.any_of(keys)}};
  const json::object of_run{{"run_id", context_.run_ids.empty()
                                           ? std::string()
                                           : environment_.random.any_of(context_.run_ids)}};
  const std::array<std::pair<const char*, json::object>, 7> questions{{{"lock.get", of_key},
                                                                       {"lock.get", of_key},
                                                                       {"lock.list", {}},
                                                                       {"tick.list", {}},
                                                                       {"run.list", {}},
                                                                       {"card.list", {}},
                                                                       {"run.get", of_run}}};
  const std::size_t known = context_.run_ids.empty() ? questions.size() - 1 : questions.size();
  const auto& [method, params] = questions[environment_.random.below(known)];
  const std::string id = name() + "-" + std::to_string(++questions_);
  context_.book.sent(id, method, params);
  open_.insert(id);
  context_.network.send(
      name(), *this,
      json::serialize(
          json::object{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}));
}

void ReaderClient::receive(const std::string& line) {
  const json::object answer = json::parse(line).as_object();
  const std::string id(answer.at("id").as_string());
  if (open_.erase(id) == 0) return;  // a repetition, or of an earlier burst
  if (const json::value* error = answer.if_contains("error")) {
    const json::object& data = error->at("data").as_object();
    const std::string code(data.at("code").as_string());
    // A server that takes no commands may not have what the request is about, yet.
    const json::value* details = data.if_contains("details");
    const bool is_past = details != nullptr && details->as_object().contains("as_of");
    if (is_past) context_.network.turn(name(), {});
    const bool is_gone =
        is_about_dropped(environment_.dropped, code, context_.book.find(id)->params);
    environment_.expect(is_of_any_request(code) || is_gone || is_past,
                        id + " was refused: " + code);
  }
  if (open_.empty()) look_again();
}

}  // namespace signalbox::simulation
