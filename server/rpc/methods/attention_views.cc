#include "server/rpc/methods/attention_views.h"

#include <string>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/scheduler/job_ownership.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string text_or_empty(const json::object& object, const char* field) {
  const json::value* value = object.if_contains(field);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

json::object service_item(const std::string& since, std::string text,
                          std::vector<std::string> next_commands) {
  json::object item;
  item["kind"] = to_json(AttentionKind::service);
  item["since"] = since.empty() ? json::value(nullptr) : json::value(since);
  item["text"] = std::move(text);
  item["next_commands"] = json::array(next_commands.begin(), next_commands.end());
  return item;
}

// Adds an item if `failure`, a part of the status, has an error.
void add_failure(const json::value& failure, const std::string& what, json::array& items) {
  const json::object* failed = failure.if_object();
  const std::string error = failed == nullptr ? "" : text_or_empty(*failed, "error");
  if (error.empty()) return;
  std::vector<std::string> commands;
  if (const json::value* next = failed->if_contains("next_commands")) {
    for (const json::value& each : next->as_array()) commands.emplace_back(each.as_string());
  }
  if (commands.empty()) commands.push_back("signalbox status");
  items.push_back(
      service_item(text_or_empty(*failed, "at"), what + ": " + error, std::move(commands)));
}

void add_texts(const json::object& status, const char* field, json::array& items) {
  const json::value* texts = status.if_contains(field);
  if (texts == nullptr) return;
  for (const json::value& text : texts->as_array()) {
    items.push_back(service_item({}, std::string(text.as_string()), {"signalbox status"}));
  }
}

void add_certificate(const json::object& status, json::array& items) {
  const json::value* shown = status.if_contains("certificate");
  const json::object* certificate = shown == nullptr ? nullptr : shown->if_object();
  if (certificate == nullptr) return;
  const std::string state = text_or_empty(*certificate, "state");
  if (state == "valid") return;
  const std::string file = text_or_empty(*certificate, "file");
  std::string text = "the certificate " + file;
  if (state == "not_yet_valid") {
    text += " isn't valid before " + text_or_empty(*certificate, "not_before");
  } else {
    text += (state == "expired" ? " was valid until " : " ends at ") +
            text_or_empty(*certificate, "not_after");
  }
  items.push_back(service_item({}, std::move(text), {"signalbox status"}));
}

void add_known_text(json::object& object, const char* name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

}  // namespace

AttentionBounds attention_bounds(const Api& api) {
  AttentionBounds bounds;
  bounds.failed_since_ns = api.clock.wall_ns() - limits::attention_failed_run_ms_max * ns_per_ms;
  bounds.failed_runs_max = limits::attention_failed_runs_max;
  if (api.ownership) {
    bounds.is_elsewhere = [&api](const Run& run) { return api.ownership->is_elsewhere(run); };
  }
  return bounds;
}

json::array service_conditions(const Api& api, const std::vector<StatusPart>& status_parts) {
  json::array items;
  json::object status;
  json::array& disk_failures = status["disk_failures"].emplace_array();
  if (const auto held = api.projector.held()) disk_failures.emplace_back(*held);
  for (const StatusPart& add_to : status_parts) add_to(status);
  if (api.engine.storage_full()) {
    items.push_back(
        service_item({}, "there is no space left for the log: commands are refused",
                     {"df -h " + shell_word(api.facts.data_directory), "signalbox status"}));
  }
  if (const auto rebuilding = api.projector.rebuilding()) {
    items.push_back(service_item(
        {}, "damaged read models are computed from the log again: " + rebuilding->reason,
        {"signalbox status"}));
  }
  add_texts(status, "disk_failures", items);
  add_texts(status, "run_root_failures", items);
  if (const json::value* retention = status.if_contains("retention")) {
    add_failure(retention->at("last"), "the latest retention failed", items);
  }
  if (const json::value* files = status.if_contains("file_retention")) {
    add_failure(files->at("last"), "the latest removal of files failed", items);
  }
  if (const json::value* settings = status.if_contains("settings")) {
    add_failure(settings->at("refused"), "the latest reload of the settings was refused", items);
  }
  add_certificate(status, items);
  return items;
}

json::object attention_item_to_json(const AttentionItem& item) {
  json::object object;
  object["kind"] = to_json(item.kind);
  object["since"] =
      item.since_ns == 0 ? json::value(nullptr) : json::value(format_time(item.since_ns));
  object["text"] = item.text;
  object["next_commands"] = json::array(item.next_commands.begin(), item.next_commands.end());
  if (!item.run_id.is_nil()) object["run_id"] = to_string(item.run_id);
  if (!item.card_id.is_nil()) object["card_id"] = to_string(item.card_id);
  add_known_text(object, "project", item.project);
  add_known_text(object, "loop", item.loop);
  add_known_text(object, "station", item.station);
  if (item.asked != 0) object["asked"] = to_json(item.asked);
  add_known_text(object, "subject", item.subject);
  return object;
}

void add_attention_details(const Api& api, const RunIndex& index, AttentionItem& item) {
  const bool is_about_run = !item.run_id.is_nil() && item.card_id.is_nil() && item.loop.empty();
  if (is_about_run) {
    const auto row = index.find(item.run_id);
    if (row && *row) add_row(**row, item);
  }
  if (item.since_position == 0) return;
  const auto records = api.log.read(item.since_position, 1);
  if (records && !records->empty()) add_record(records->front(), item);
}

bool is_failed_run_of_card(const RunIndex& index, const AttentionItem& item) {
  if (item.kind != AttentionKind::failed_run) return false;
  const auto row = index.find(item.run_id);
  return row && *row && is_of_card(**row);
}

}  // namespace signalbox
