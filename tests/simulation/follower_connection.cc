#include "tests/simulation/follower_connection.h"

#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/rpc/event_feed.h"
#include "server/rpc/shown_record.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

}  // namespace

void FollowerConnection::answer(std::string line, std::size_t) {
  if (line.empty() || closed_) return;
  json::object answer = json::parse(line).as_object();
  json::value* const result = answer.if_contains("result");
  const bool is_list = result != nullptr && !result->as_object().contains("subscription");
  book_.read_on(log_);
  if (is_list && environment_.mutant == Mutant::list_of_later_position) {
    result->as_object()["position"] = book_.tail();
  }
  lines_.push_back({{}, std::move(answer)});
}

void FollowerConnection::deliver(std::string line) {
  environment_.violate("a follower gets what it didn't ask for: " + line);
}

void FollowerConnection::notify(std::string_view method, const json::object& params, bool) {
  if (closed_) return;
  book_.read_on(log_);
  if (method == "event" && params.at("position").to_number<Position>() > book_.tail()) {
    environment_.violate("a subscriber is told what isn't durable: " + json::serialize(params));
  }
  const bool is_full = outgoing_bytes() > subscriber_outgoing_bytes_max;
  if (is_full && environment_.mutant == Mutant::slow_reader_skipped) return;
  lines_.push_back({std::string(method), json::object(params, json::storage_ptr())});
}

void FollowerConnection::notify_record(const RecordNotice& notice) {
  std::string text;
  notice.record.append_params(text, {.hides_tokens = notice.hides_tokens}, notice.subscription);
  notify("event", json::parse(text).as_object(), notice.is_last_of_position);
}

std::optional<FollowerConnection::Line> FollowerConnection::take() {
  if (lines_.empty()) return std::nullopt;
  Line first = std::move(lines_.front());
  lines_.pop_front();
  if (lines_.empty() && drained_) {
    environment_.reading.after(0, life_, std::exchange(drained_, nullptr));
  }
  return first;
}

void FollowerConnection::close(std::size_t lines_kept) {
  closed_ = true;
  drained_ = nullptr;
  while (lines_.size() > lines_kept) lines_.pop_back();
}

}  // namespace signalbox::simulation
