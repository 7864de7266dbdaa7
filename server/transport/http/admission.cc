#include "server/transport/http/admission.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include <boost/describe/enum_to_string.hpp>

#include "server/rpc/event_feed.h"

namespace signalbox {
namespace {

// A TLS connection has its socket and the two ends of the pair that the relay copies through.
constexpr std::size_t tls_descriptors = 3;

std::size_t descriptors_of(bool is_tls) { return is_tls ? tls_descriptors : 1; }

// A process that is gone may have been one of a job.
bool is_certainly_owner(const Caller& caller) {
  return caller.uid && !caller.job_id && !caller.process_is_gone &&
         is_owner(*caller.uid, ::geteuid());
}

CallerKind kind_of_caller(const Caller& caller) {
  if (!caller.uid) return CallerKind::stranger;
  return is_certainly_owner(caller) ? CallerKind::owner : CallerKind::user;
}

CallerKind kind_of_actor(const std::string& actor, bool owner) {
  if (actor.starts_with("token:")) return CallerKind::token;
  if (actor.starts_with("uid:")) return owner ? CallerKind::owner : CallerKind::user;
  const bool is_job = actor.starts_with("job:") || actor.starts_with("agent:");
  return is_job ? CallerKind::user : CallerKind::address;
}

bool is_over(std::optional<Admission::Time> since, Admission::Time now, std::int64_t ms_max) {
  return since && now - *since > std::chrono::milliseconds(ms_max);
}

std::string text_of(DropReason reason) { return boost::describe::enum_to_string(reason, "?"); }

}  // namespace

std::shared_ptr<Admission::Place> Admission::admit(const Caller& caller, bool is_tls) {
  auto place = std::make_shared<Place>(shared_from_this(), is_tls, is_certainly_owner(caller));
  place->since_ = parts_.now();
  enter(*place, caller.uid ? caller.actor() : "stranger " + caller.address, kind_of_caller(caller));
  if (make_room(*place)) return place;
  count(DropReason::full, place->share_->name);
  leave(*place);
  return nullptr;
}

void Admission::enter(Place& place, const std::string& name, CallerKind kind) {
  Share& share = shares_[name];
  // A process of the server's own user that is gone is in the share, too.
  if (share.name.empty() || kind == CallerKind::owner) share.kind = kind;
  share.name = name;
  place.share_ = &share;
  place.at_ = share.places.insert(share.places.end(), &place);
  share.bytes += place.bytes();
  share.subscriptions += place.subscriptions_;
  if (place.identified_) ++share.identified;
  ++connections_;
  descriptors_ += descriptors_of(place.is_tls_);
  bytes_ += place.bytes();
  subscriptions_ += place.subscriptions_;
  if (kind != CallerKind::stranger) return;
  ++strangers_;
  if (place.is_tls_) ++tls_strangers_;
  stranger_bytes_ += place.bytes();
}

void Admission::leave(Place& place) {
  Share* const share = std::exchange(place.share_, nullptr);
  if (share == nullptr) return;
  if (share->kind == CallerKind::stranger) {
    --strangers_;
    if (place.is_tls_) --tls_strangers_;
    stranger_bytes_ -= place.bytes();
  }
  subscriptions_ -= place.subscriptions_;
  bytes_ -= place.bytes();
  descriptors_ -= descriptors_of(place.is_tls_);
  --connections_;
  if (place.identified_) --share->identified;
  share->subscriptions -= place.subscriptions_;
  share->bytes -= place.bytes();
  share->places.erase(place.at_);
  if (share->places.empty()) shares_.erase(share->name);
}

// The connection may be in the middle of a call, so it is closed later.
void Admission::drop(Place& place, DropReason reason) {
  count(reason, place.share_->name);
  leave(place);
  place.dropped_ = true;
  if (place.close_) parts_.post(std::exchange(place.close_, nullptr));
}

bool Admission::make_room(const Place& arrived) {
  const Share& share = *arrived.share_;
  const bool is_stranger = share.kind == CallerKind::stranger;
  if (is_stranger && arrived.is_tls_ && tls_strangers_ > tls_newcomers_max) {
    drop(*oldest_stranger(true, &arrived), DropReason::evicted);
  } else if (is_stranger && strangers_ > newcomers_max) {
    drop(*oldest_stranger(false, &arrived), DropReason::evicted);
  } else if (share.kind == CallerKind::user &&
             share.places.size() - share.identified > newcomers_max) {
    for (Place* each : share.places) {
      if (each->identified_) continue;
      drop(*each, DropReason::evicted);
      break;
    }
  }
  const std::size_t reserve = arrived.is_owner_ ? 0 : owner_connections_max;
  while (connections_ + reserve > limits_.connections ||
         descriptors_ + reserve > limits_.descriptors) {
    Place* const free = place_to_free(arrived);
    if (free == nullptr) return false;
    drop(*free, DropReason::evicted);
  }
  return true;
}

Admission::Place* Admission::oldest_stranger(bool is_tls, const Place* arrived) const {
  Place* found = nullptr;
  std::size_t most = 0;
  for (const auto& [name, share] : shares_) {
    if (share.kind != CallerKind::stranger || share.places.size() < most) continue;
    Place* oldest = nullptr;
    for (Place* each : share.places) {
      if (each == arrived || (is_tls && !each->is_tls_)) continue;
      if (oldest == nullptr) oldest = each;
      if (each->busy_) continue;
      oldest = each;
      break;
    }
    if (oldest == nullptr) continue;
    const bool more = share.places.size() > most;
    if (!more && found != nullptr && found->since_ <= oldest->since_) continue;
    found = oldest;
    most = share.places.size();
  }
  return found;
}

// The caller with the most places gives one up: a newcomer, else an idle one, else the oldest. A
// caller never gains a place over one that has fewer, except the owner.
Admission::Place* Admission::place_to_free(const Place& arrived) const {
  const Share* most = nullptr;
  for (const auto& [name, share] : shares_) {
    const bool is_reserved = share.kind == CallerKind::owner && !arrived.is_owner_ &&
                             share.places.size() <= owner_connections_max;
    if (is_reserved) continue;
    if (most == nullptr || share.places.size() > most->places.size()) most = &share;
  }
  if (most == nullptr) return nullptr;
  const bool is_own = most == arrived.share_;
  if (!arrived.is_owner_ && !is_own && most->places.size() <= arrived.share_->places.size()) {
    return nullptr;
  }
  Place* newcomer = nullptr;
  Place* idle = nullptr;
  Place* oldest = nullptr;
  for (Place* each : most->places) {
    if (each == &arrived) continue;
    if (oldest == nullptr) oldest = each;
    if (idle == nullptr && !each->busy_) idle = each;
    if (!each->identified_ && !each->busy_) {
      newcomer = each;
      break;
    }
  }
  if (newcomer != nullptr) return newcomer;
  // Among its own, a caller that isn't the owner doesn't lose what it uses.
  if (is_own && !arrived.is_owner_) return nullptr;
  return idle != nullptr ? idle : oldest;
}

// A connection that reads what it gets goes after those that don't.
void Admission::drop_largest(const Share& share) {
  const Time now = parts_.now();
  const auto weight = [now](const Place& place) {
    return std::pair(is_over(place.unread_since_, now, stalled_ms_min), place.bytes());
  };
  Place* largest = share.places.front();
  for (Place* each : share.places) {
    if (weight(*each) > weight(*largest)) largest = each;
  }
  drop(*largest, DropReason::buffered);
}

const Admission::Share& Admission::largest_share(bool strangers_only) const {
  const Share* largest = nullptr;
  for (const auto& [name, each] : shares_) {
    if (strangers_only && each.kind != CallerKind::stranger) continue;
    if (largest == nullptr || each.bytes > largest->bytes) largest = &each;
  }
  return *largest;
}

// Closes what keeps the most bytes of the caller that keeps the most, until all are within bounds.
void Admission::enforce_bytes(const Share& share) {
  if (share.bytes > caller_buffered_bytes_max) drop_largest(share);
  while (stranger_bytes_ > newcomers_buffered_bytes_max) drop_largest(largest_share(true));
  while (bytes_ > buffered_bytes_max) drop_largest(largest_share(false));
}

bool Admission::has_line_room() {
  if (stranger_bytes_ + line_bytes_max <= newcomers_buffered_bytes_max) return true;
  const Time now = parts_.now();
  if (line_room_made_at_ && !is_over(line_room_made_at_, now, newcomer_pause_ms_min)) return false;
  line_room_made_at_ = now;
  drop_largest(largest_share(true));
  return true;
}

bool Admission::free_descriptor() {
  Place* const place = oldest_stranger(false, nullptr);
  if (place == nullptr) return false;
  drop(*place, DropReason::descriptors);
  return true;
}

std::optional<DropReason> Admission::overdue(const Place& place, Time now) const {
  if (!place.identified_ && !place.is_owner_ && !place.busy_ &&
      is_over(place.since_, now, first_request_ms_max)) {
    return DropReason::no_request;
  }
  if (is_over(place.line_since_, now, line_ms_max)) return DropReason::half_line;
  if (is_over(place.unread_since_, now, unread_ms_max)) return DropReason::unread;
  return std::nullopt;
}

void Admission::sweep() {
  const Time now = parts_.now();
  std::vector<std::pair<Place*, DropReason>> over;
  for (const auto& [name, share] : shares_) {
    for (Place* each : share.places) {
      if (const auto reason = overdue(*each, now)) over.emplace_back(each, *reason);
    }
  }
  for (const auto& [place, reason] : over) drop(*place, reason);
  log_drops(now);
}

void Admission::count(DropReason reason, const std::string& caller) {
  ++dropped_[reason];
  ++unlogged_;
  last_dropped_ = caller;
  log_drops(parts_.now());
}

// The first one is logged at once, the following ones together after a while.
void Admission::log_drops(Time now) {
  if (unlogged_ == 0) return;
  if (logged_at_ && now - *logged_at_ < std::chrono::milliseconds(refusals_log_ms_min)) return;
  std::string text = "connections refused or closed:";
  for (const auto& [reason, total] : dropped_) {
    const std::uint64_t since = total - dropped_at_log_[reason];
    if (since > 0) text += " " + std::to_string(since) + " " + text_of(reason) + ",";
  }
  text += " the last of " + last_dropped_ + "; " + std::to_string(connections_) + " are open";
  parts_.warn(text);
  dropped_at_log_ = dropped_;
  unlogged_ = 0;
  logged_at_ = now;
}

ConnectionFigures Admission::figures() const {
  ConnectionFigures figures;
  for (const auto& [name, share] : shares_) figures.open[share.kind] += share.places.size();
  figures.dropped = dropped_;
  figures.buffered_bytes = bytes_;
  return figures;
}

Admission::Place::Place(std::shared_ptr<Admission> admission, bool is_tls, bool is_owner)
    : admission_(std::move(admission)), is_tls_(is_tls), is_owner_(is_owner) {}

Admission::Place::~Place() { leave(); }

void Admission::Place::on_drop(std::function<void()> close) {
  if (dropped_) return admission_->parts_.post(std::move(close));
  close_ = std::move(close);
}

bool Admission::Place::identify(const std::string& actor) {
  if (share_ == nullptr || (identified_ && share_->name == actor)) return true;
  const auto there = admission_->shares_.find(actor);
  if (!is_owner_ && there != admission_->shares_.end() &&
      there->second.identified >= admission_->limits_.caller_connections) {
    admission_->count(DropReason::caller_full, actor);
    return false;
  }
  const CallerKind kind = kind_of_actor(actor, is_owner_);
  admission_->leave(*this);
  identified_ = true;
  admission_->enter(*this, actor, kind);
  return true;
}

bool Admission::Place::may_read_on() {
  const bool is_stranger = share_ != nullptr && share_->kind == CallerKind::stranger;
  return !is_stranger || admission_->has_line_room();
}

void Admission::Place::renew() { since_ = admission_->parts_.now(); }

void Admission::Place::set_bytes(std::size_t& part, std::size_t bytes) {
  if (share_ == nullptr || part == bytes) return;
  const bool grew = bytes > part;
  const std::size_t change = bytes - part;  // wraps when it shrinks, and so do the sums
  part = bytes;
  share_->bytes += change;
  admission_->bytes_ += change;
  if (share_->kind == CallerKind::stranger) admission_->stranger_bytes_ += change;
  if (grew) admission_->enforce_bytes(*share_);
}

void Admission::Place::set_line(bool has_begun, bool is_new) {
  if (!has_begun) {
    line_since_.reset();
  } else if (is_new || !line_since_) {
    line_since_ = admission_->parts_.now();
  }
}

void Admission::Place::set_output(std::size_t bytes, bool has_progress) {
  if (bytes == 0) {
    unread_since_.reset();
  } else if (has_progress || !unread_since_) {
    unread_since_ = admission_->parts_.now();
  }
  set_bytes(output_bytes_, bytes);
}

std::string_view Admission::Place::caller() const {
  return share_ == nullptr ? std::string_view() : share_->name;
}

bool Admission::Place::is_caller_full() const {
  return share_ != nullptr && !is_owner_ && share_->subscriptions >= caller_subscriptions_max;
}

bool Admission::Place::take_subscription() {
  if (share_ == nullptr) return false;
  const std::size_t reserve = is_owner_ ? 0 : owner_subscriptions_max;
  if (is_caller_full() || admission_->subscriptions_ + reserve >= subscriptions_max) return false;
  ++subscriptions_;
  ++share_->subscriptions;
  ++admission_->subscriptions_;
  return true;
}

void Admission::Place::count_refused_subscription() {
  if (share_ != nullptr) admission_->count(DropReason::subscription, share_->name);
}

}  // namespace signalbox
