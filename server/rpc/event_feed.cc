#include "server/rpc/event_feed.h"

#include <algorithm>

#include "server/rpc/agent_logs.h"
#include "server/rpc/record_json.h"
#include "server/rpc/responder.h"

namespace signalbox {
namespace {

constexpr std::size_t read_events_at_once = 256;

// Reads records from `from` on and skips those that were dropped: a subscriber that may start there
// wants none of them.
Stored<std::vector<Record>> read_available(const EventLog& log, Position from) {
  auto records = log.read(from, read_events_at_once);
  if (records || records.error().kind != StoreError::Kind::dropped) return records;
  const Horizon horizon = log.horizon();
  from = horizon.next_present(from);
  const Position gap = horizon.first_dropped(from, log.tail()).value_or(log.tail() + 1);
  return log.read(from, std::min<std::size_t>(read_events_at_once, gap - from));
}

}  // namespace

bool EventFilter::matches(const Record& record) const {
  if (run_id && (record.stream.kind != StreamKind::run || record.stream.run_id != *run_id)) {
    return false;
  }
  return types.empty() || types.contains(tag_of(record.event).name);
}

void EventFeed::subscribe(std::shared_ptr<Peer> peer, std::string subscription, Position from,
                          EventFilter filter, Broadcasts broadcasts, bool hides_tokens) {
  auto subscriber = std::make_shared<Subscriber>(
      Subscriber{std::move(peer), std::move(subscription), from, std::move(filter),
                 std::move(broadcasts), hides_tokens});
  subscriber->peer->keep_open();
  subscribers_.push_back(subscriber);
  pump(subscriber);
}

bool EventFilter::wants_broadcasts() const {
  if (run_id) return false;
  if (types.empty()) return true;
  return std::any_of(
      broadcast_names().begin(), broadcast_names().end(),
      [this](const std::string& name) { return name != agent_log_name && types.contains(name); });
}

bool EventFilter::wants_broadcast(std::string_view name) const {
  return !run_id && (types.empty() || types.contains(name));
}

void EventFeed::send(Subscriber& subscriber, const Record& record) {
  std::vector<Broadcast> broadcasts;
  if (subscriber.filter.wants_broadcasts()) {
    broadcasts = subscriber.broadcasts.of(record);
    std::erase_if(broadcasts, [&subscriber](const Broadcast& each) {
      return !subscriber.filter.wants_broadcast(each.name);
    });
  }
  if (subscriber.filter.matches(record)) {
    boost::json::object params = record_to_json(record);
    if (subscriber.hides_tokens) hide_tokens(params);
    params["subscription"] = subscriber.subscription;
    subscriber.peer->notify("event", params, broadcasts.empty());
  }
  for (Broadcast& broadcast : broadcasts) {
    if (subscriber.hides_tokens) hide_tokens(broadcast.params);
    broadcast.params["subscription"] = subscriber.subscription;
    subscriber.peer->notify(broadcast.name, broadcast.params, &broadcast == &broadcasts.back());
  }
}

// Sends the next records to one subscriber, and schedules itself until the subscriber has all of
// them or its peer has to read some first. Each call reads only a few, since it blocks the engine's
// thread.
void EventFeed::pump(const std::shared_ptr<Subscriber>& subscriber) {
  if (subscriber->peer->closed() || subscriber->ended) return;
  if (subscriber->scheduled || subscriber->paused) return;
  if (subscriber->next <= log_.tail()) {
    if (subscriber->peer->outgoing_bytes() > subscriber_outgoing_bytes_max) {
      subscriber->paused = true;
      subscriber->peer->on_drained([this, weak = std::weak_ptr(subscriber)] {
        if (const auto again = weak.lock()) {
          again->paused = false;
          pump(again);
        }
      });
      return;
    }
    const auto records = read_available(log_, subscriber->next);
    if (!records) return end_unreadable(*subscriber, records.error());
    for (const Record& record : *records) send(*subscriber, record);
    subscriber->next = records->back().position + 1;
  }
  if (subscriber->next <= log_.tail()) return schedule_pump(subscriber);
  subscriber->caught_up = true;
}

void EventFeed::schedule_pump(const std::shared_ptr<Subscriber>& subscriber) {
  subscriber->scheduled = true;
  post_([this, weak = std::weak_ptr(subscriber)] {
    if (const auto again = weak.lock()) {
      again->scheduled = false;
      pump(again);
    }
  });
}

// The connection closes when the peer has taken what is queued, or a few seconds later.
void EventFeed::end_lagging(Subscriber& subscriber) {
  subscriber.ended = true;
  subscriber.peer->notify(
      "lagged", {{"subscription", subscriber.subscription}, {"from", subscriber.next}}, true);
  subscriber.peer->close_after_flush();
}

// Ends this subscriber alone: the records that others want may be intact.
void EventFeed::end_unreadable(Subscriber& subscriber, const StoreError& error) {
  read_error_(error);
  subscriber.ended = true;
  const bool dropped = error.kind == StoreError::Kind::dropped;
  subscriber.peer->notify("failed",
                          {{"subscription", subscriber.subscription},
                           {"from", subscriber.next},
                           {"code", dropped ? "HISTORY_DROPPED" : "STORAGE_DAMAGED"},
                           {"message", error.message}},
                          true);
  subscriber.peer->close_after_flush();
}

void EventFeed::publish(std::span<const Commit> batch) {
  if (subscribers_.empty()) return;
  drop_closed();
  const Position first = batch.front().front().position;
  const Position last = batch.back().back().position;
  for (const auto& subscriber : subscribers_) {
    if (subscriber->ended) continue;
    const bool has_room = !subscriber->paused && !subscriber->scheduled &&
                          subscriber->peer->outgoing_bytes() <= subscriber_outgoing_bytes_max;
    if (subscriber->next == first && has_room) {
      for (const Commit& commit : batch) {
        for (const Record& record : commit) send(*subscriber, record);
      }
      subscriber->next = last + 1;
    } else if (subscriber->caught_up && subscriber->next + subscriber_lag_events_max < last) {
      end_lagging(*subscriber);
    } else {
      pump(subscriber);
    }
  }
}

void EventFeed::drop_closed() {
  std::erase_if(subscribers_, [](const auto& each) { return each->peer->closed(); });
}

}  // namespace signalbox
