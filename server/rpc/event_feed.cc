#include "server/rpc/event_feed.h"

#include <algorithm>
#include <utility>

#include "domain/run_span.h"
#include "projections/attention.h"
#include "server/limits.h"
#include "server/rpc/agent_logs.h"
#include "server/rpc/responder.h"
#include "server/rpc/shown_record.h"
#include "server/text/time_text.h"

namespace signalbox {

bool EventFilter::matches(const Record& record) const {
  if (run_id && (record.stream.kind != StreamKind::run || record.stream.run_id != *run_id)) {
    return false;
  }
  if (span_id && !belongs_to_span(record, *span_id)) return false;
  if (actor && record.actor != *actor) return false;
  if (stream && to_string(record.stream) != *stream) return false;
  return types.empty() || types.contains(tag_of(record.event).name);
}

void EventFeed::subscribe(std::shared_ptr<Peer> peer, std::string subscription, const Start& start,
                          EventFilter filter, Broadcasts broadcasts, bool hides_tokens,
                          std::string caller) {
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->peer = std::move(peer);
  subscriber->subscription = std::move(subscription);
  subscriber->caller = std::move(caller);
  subscriber->from = start.from;
  subscriber->filter = std::move(filter);
  subscriber->broadcasts = std::move(broadcasts);
  subscriber->hides_tokens = hides_tokens;
  subscriber->dropped_at = start.dropped_at;
  subscriber->next = subscriber->filter.wants_broadcasts()
                         ? Broadcasts::history_from(start.from, log_.horizon())
                         : start.from;
  subscriber->peer->keep_open();
  subscribers_.push_back(subscriber);
  pump(subscriber);
}

// Closing a connection doesn't change the list.
void EventFeed::close_gone(const Peer& asking, bool of_all_callers) {
  for (const auto& each : subscribers_) {
    Peer& peer = *each->peer;
    const bool is_wanted = of_all_callers || peer.counted_caller() == asking.counted_caller();
    if (&peer != &asking && is_wanted && peer.has_gone(true)) peer.close_now();
  }
  drop_closed();
}

void EventFeed::close_of(const std::function<bool(const std::string& caller)>& is_meant) {
  for (const auto& each : subscribers_) {
    if (is_meant(each->caller)) each->peer->close_now();
  }
  drop_closed();
}

void EventFeed::close_ended(const std::function<bool(const std::string& caller)>& has_ended) {
  for (const auto& each : subscribers_) {
    if (!has_ended(each->caller)) continue;
    if (std::exchange(each->rights_ended, true)) each->peer->close_now();
  }
  drop_closed();
}

bool EventFilter::wants_broadcasts() const {
  if (run_id) return false;
  if (types.empty()) return has_broadcasts;
  return std::any_of(
      broadcast_names().begin(), broadcast_names().end(), [this](const std::string& name) {
        return name != agent_log_name && name != attention_changed_name && types.contains(name);
      });
}

bool EventFilter::wants_attention() const {
  return !run_id && !span_id && types.contains(attention_changed_name);
}

bool EventFilter::wants(const Broadcast& broadcast) const {
  if (run_id || (!types.empty() && !types.contains(broadcast.name))) return false;
  return !span_id || broadcast.params.at("span_id") == boost::json::value(to_string(*span_id));
}

void EventFeed::send(Subscriber& subscriber, ShownRecord& shown) {
  const Record& record = shown.record();
  std::vector<Broadcast> broadcasts;
  if (subscriber.filter.wants_broadcasts()) {
    broadcasts = subscriber.broadcasts.of(record);
    std::erase_if(broadcasts,
                  [&subscriber](const Broadcast& each) { return !subscriber.filter.wants(each); });
  }
  if (record.position < subscriber.from) return;
  if (subscriber.filter.wants_attention() && may_change_attention(record)) {
    boost::json::object params{{"position", record.position},
                               {"recorded_at", format_time(record.recorded_at_ns)}};
    broadcasts.push_back({attention_changed_name, std::move(params)});
  }
  if (subscriber.filter.matches(record)) {
    subscriber.peer->notify_record({.record = shown,
                                    .subscription = subscriber.subscription,
                                    .hides_tokens = subscriber.hides_tokens,
                                    .is_last_of_position = broadcasts.empty()});
  }
  for (Broadcast& broadcast : broadcasts) {
    if (subscriber.hides_tokens) hide_tokens(broadcast.params);
    if (subscriber.hides_tokens && broadcast.span_is_token) broadcast.params["span_id"] = nullptr;
    broadcast.params["subscription"] = subscriber.subscription;
    subscriber.peer->notify(broadcast.name, broadcast.params, &broadcast == &broadcasts.back());
  }
}

// Reads records from `next` on until one of the bounds of a turn is reached. Records that were
// dropped by the time of the subscription (`dropped_at`) are skipped: a subscriber that may start
// before them wants none of them. Those dropped since end it: it must not miss any. Any thread.
EventFeed::Backlog EventFeed::read_backlog(const EventLog& log, Position next, Position from,
                                           Position dropped_at, const EventFilter& filter) {
  Backlog backlog;
  backlog.next = next;
  const bool wants_broadcasts = filter.wants_broadcasts();
  const bool wants_attention = filter.wants_attention();
  const Position last = std::min(log.tail(), next + limits::backlog_read_events_max - 1);
  const auto scanned = log.scan(next, last, [&](Record&& record) {
    backlog.next = record.position + 1;
    const bool is_sent = record.position >= from && filter.matches(record);
    if (is_sent || (wants_broadcasts && Broadcasts::concerns(record)) ||
        (wants_attention && may_change_attention(record))) {
      backlog.records.push_back(std::move(record));
    }
    return backlog.records.size() < limits::backlog_sent_events_max;
  });
  if (scanned) return backlog;
  if (scanned.error().kind == StoreError::Kind::dropped) {
    const Horizon horizon = log.horizon();
    const Position present = horizon.next_present(backlog.next);
    const bool is_missed =
        horizon.dropped_at != dropped_at &&
        horizon.first_dropped(std::max(backlog.next, from), present - 1).has_value();
    if (!is_missed && std::exchange(backlog.next, present) != present) return backlog;
  }
  backlog.error = scanned.error();
  return backlog;
}

void EventFeed::pump(const std::shared_ptr<Subscriber>& subscriber) {
  if (subscriber->peer->closed() || subscriber->ended) return;
  if (subscriber->reading || subscriber->paused) return;
  if (subscriber->next > log_.tail()) {
    subscriber->caught_up = true;
    return;
  }
  const Position behind = log_.tail() - subscriber->next + 1;
  if (behind > subscriber->peer->records_per_second_max() &&
      skips(*subscriber, behind, subscriber->next, log_.tail())) {
    subscriber->caught_up = true;
    return;
  }
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
  subscriber->reading = true;
  turns_.push_back(subscriber);
  begin_reads();
}

// Each reading is followed by one delivery on the engine's thread. So between two commands that
// thread makes at most backlog_readers_max deliveries, of backlog_sent_events_max records each,
// however many subscribe.
void EventFeed::begin_reads() {
  while (reads_ < limits::backlog_readers_max && !turns_.empty()) {
    const std::shared_ptr<Subscriber> subscriber = std::move(turns_.front());
    turns_.pop_front();
    if (subscriber->peer->closed() || subscriber->ended) {
      subscriber->reading = false;
      continue;
    }
    ++reads_;
    readers_.run({.name = "subscription " + subscriber->subscription},
                 [this, subscriber, next = subscriber->next, from = subscriber->from,
                  dropped_at = subscriber->dropped_at,
                  filter = subscriber->filter]() -> std::function<void()> {
                   return [this, subscriber,
                           backlog = read_backlog(log_, next, from, dropped_at, filter)] {
                     finish_read(subscriber, backlog);
                   };
                 });
  }
}

void EventFeed::finish_read(const std::shared_ptr<Subscriber>& subscriber, const Backlog& backlog) {
  --reads_;
  subscriber->reading = false;
  if (!subscriber->peer->closed() && !subscriber->ended) {
    for (const Record& record : backlog.records) {
      ShownRecord shown(record);
      send(*subscriber, shown);
    }
    subscriber->next = backlog.next;
    if (backlog.error && subscriber->next < subscriber->from) {
      subscriber->next = subscriber->from;  // the history of its broadcasts isn't owed
      pump(subscriber);
    } else if (backlog.error) {
      end_unreadable(*subscriber, *backlog.error);
    } else {
      pump(subscriber);
    }
  }
  begin_reads();
}

bool EventFeed::skips(Subscriber& subscriber, std::size_t count, Position first, Position last) {
  if (subscriber.peer->takes_records(count, first, last)) return false;
  subscriber.next = last + 1;
  return true;
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
  boost::json::object params{{"subscription", subscriber.subscription},
                             {"from", subscriber.next},
                             {"code", dropped ? "HISTORY_DROPPED" : "STORAGE_DAMAGED"},
                             {"message", error.message}};
  if (dropped) params["horizon"] = log_.horizon().position;
  subscriber.peer->notify("failed", params, true);
  subscriber.peer->close_after_flush();
}

void EventFeed::renew_facts() {
  for (const auto& subscriber : subscribers_) subscriber->broadcasts.renew_facts();
}

void EventFeed::publish(std::span<const Commit> batch) {
  if (subscribers_.empty()) return;
  drop_closed();
  const Position first = batch.front().front().position;
  const Position last = batch.back().back().position;
  std::vector<std::shared_ptr<Subscriber>> followers;
  for (const auto& subscriber : subscribers_) {
    if (subscriber->ended) continue;
    const bool has_room = !subscriber->paused && !subscriber->reading &&
                          subscriber->peer->outgoing_bytes() <= subscriber_outgoing_bytes_max;
    if (subscriber->next == first && has_room) {
      followers.push_back(subscriber);
    } else if (subscriber->caught_up && subscriber->next + subscriber_lag_events_max <= last) {
      end_lagging(*subscriber);
    } else {
      pump(subscriber);
    }
  }
  std::size_t count = 0;
  for (const Commit& commit : batch) count += commit.size();
  std::erase_if(followers,
                [&](const auto& subscriber) { return skips(*subscriber, count, first, last); });
  if (followers.empty()) return;
  for (const Commit& commit : batch) {
    for (const Record& record : commit) {
      ShownRecord shown(record);
      for (const auto& subscriber : followers) send(*subscriber, shown);
    }
  }
  for (const auto& subscriber : followers) subscriber->next = last + 1;
}

void EventFeed::drop_closed() {
  std::erase_if(subscribers_, [](const auto& each) { return each->peer->closed(); });
}

}  // namespace signalbox
