#include "projections/attention_item.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/admission.h"

namespace signalbox {

std::string name_of(const AttentionItem& item) {
  const std::string kind = boost::describe::enum_to_string(item.kind, "");
  const auto of = [&kind](const std::string& subject) { return kind + "/" + subject; };
  // A card may wait, go on, and wait again: the position tells the two apart. That of a run, a loop
  // or a project isn't part of its name, because it moves on while the same thing waits.
  const std::string since = "/" + std::to_string(item.since_position);
  switch (item.kind) {
    case AttentionKind::service:
      return of(item.condition);
    case AttentionKind::approval:
      return of(to_string(item.run_id)) + "/" + std::to_string(item.asked);
    case AttentionKind::failed_run:
      return of(to_string(item.run_id)) + since;
    case AttentionKind::budget:
    case AttentionKind::paused_run:
    case AttentionKind::lost_job:
      return of(to_string(item.run_id));
    case AttentionKind::blocked_card:
    case AttentionKind::failed_card:
      return of(to_string(item.card_id)) + (item.is_later ? "" : since);
    case AttentionKind::halted_loop:
      return of(item.loop);
    case AttentionKind::refused_policy:
    case AttentionKind::held_project:
      return of(item.project);
  }
  return kind;
}

AttentionItem item_of(const ServicePause& pause) {
  AttentionItem item;
  item.kind = AttentionKind::service;
  item.condition = "paused";
  item.since_position = pause.position;
  item.since_ns = pause.since_ns;
  item.text = pause_text(pause) + "; nothing new begins";
  item.next_commands = {resume_service_command, "signalbox status"};
  return item;
}

void sort_by_wait(std::vector<AttentionItem>& items) {
  // Positions are in the order of time. Names are made once: they cost more than the comparisons.
  std::vector<std::pair<std::string, AttentionItem>> named;
  named.reserve(items.size());
  for (AttentionItem& item : items) named.emplace_back(name_of(item), std::move(item));
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.since_position, a.first) < std::tie(b.second.since_position, b.first);
  });
  items.clear();
  for (auto& each : named) items.push_back(std::move(each.second));
}

}  // namespace signalbox
