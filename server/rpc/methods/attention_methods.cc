// `attention.list`: what waits for a person, in the world and in the service itself.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/array.hpp>

#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "projections/attention.h"
#include "projections/run_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/timeline_json.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/scheduler/job_ownership.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The first approvals whose patch is looked for: that reads all records of the run.
constexpr std::size_t patches_shown_max = 32;

struct ListAttention {
  std::vector<AttentionKind> kinds;
  std::optional<std::uint32_t> limit;
};
BOOST_DESCRIBE_STRUCT(ListAttention, (), (kinds, limit))

// What the engine's thread knows, and what was asked for.
struct AttentionMoment {
  std::vector<AttentionItem> items;
  json::array service;  // items, as they are shown
  std::size_t limit = 0;
};

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

// Returns the conditions of the service itself that wait for a person.
json::array conditions_of(const Api& api, const std::vector<StatusPart>& status_parts) {
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

bool is_wanted(const std::vector<AttentionKind>& kinds, AttentionKind kind) {
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

struct AttentionQuestion {
  std::vector<AttentionKind> kinds;
  std::size_t limit = 0;
};

AttentionMoment attention_moment(const Api& api, const std::vector<StatusPart>& status_parts,
                                 const AttentionQuestion& question) {
  AttentionBounds bounds;
  bounds.failed_since_ns = api.clock.wall_ns() - limits::attention_failed_run_ms_max * ns_per_ms;
  bounds.failed_runs_max = limits::attention_failed_runs_max;
  if (api.ownership) {
    bounds.is_elsewhere = [&api](const Run& run) { return api.ownership->is_elsewhere(run); };
  }
  AttentionMoment moment;
  moment.items = attention_of(api.engine.world(), bounds);
  std::erase_if(moment.items,
                [&](const AttentionItem& item) { return !is_wanted(question.kinds, item.kind); });
  if (is_wanted(question.kinds, AttentionKind::service)) {
    moment.service = conditions_of(api, status_parts);
  }
  moment.limit = question.limit;
  return moment;
}

void add_known_text(json::object& object, const char* name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

json::object attention_item_json(const AttentionItem& item) {
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

// Adds what the row and the record of an item say. What can't be read isn't shown: the rest is.
void add_details(const Api& api, const RunIndex& index, AttentionItem& item) {
  const bool is_about_run = !item.run_id.is_nil() && item.card_id.is_nil() && item.loop.empty();
  if (is_about_run) {
    const auto row = index.find(item.run_id);
    if (row && *row) add_row(**row, item);
  }
  if (item.since_position == 0) return;
  const auto records = api.log.read(item.since_position, 1);
  if (records && !records->empty()) add_record(records->front(), item);
}

// Returns the size of the run's newest change.patch; nullopt if it has none.
std::optional<std::uint64_t> patch_bytes(const Api& api, const RunIndex& index, const RunId& id) {
  const auto timeline = read_timeline(api.log, index, id);
  if (!timeline || !*timeline) return std::nullopt;
  const auto current = current_artifacts(**timeline);
  const auto patch = current.find("change.patch");
  if (patch == current.end()) return std::nullopt;
  return patch->second->bytes;
}

// Returns whether a failed run is one of a card, which waits in its stead.
bool is_failed_run_of_card(const RunIndex& index, const AttentionItem& item) {
  if (item.kind != AttentionKind::failed_run) return false;
  const auto row = index.find(item.run_id);
  return row && *row && is_of_card(**row);
}

// Returns the answer. `index` is nullptr while the read models can't be asked.
json::object attention_view(const Api& api, const RunIndex* index, const AttentionMoment& moment) {
  json::array items;
  std::map<AttentionKind, std::uint64_t> counts;
  for (const json::value& condition : moment.service) {
    ++counts[AttentionKind::service];
    if (items.size() < moment.limit) items.push_back(condition);
  }
  std::size_t total = moment.service.size();
  std::size_t patches = 0;
  for (AttentionItem item : moment.items) {
    if (index != nullptr && is_failed_run_of_card(*index, item)) continue;
    ++total;
    ++counts[item.kind];
    if (items.size() >= moment.limit) continue;
    if (index != nullptr) add_details(api, *index, item);
    json::object shown = attention_item_json(item);
    if (index != nullptr && item.kind == AttentionKind::approval && patches++ < patches_shown_max) {
      if (const auto bytes = patch_bytes(api, *index, item.run_id)) shown["patch_bytes"] = *bytes;
    }
    items.push_back(std::move(shown));
  }
  json::object result;
  result["items"] = std::move(items);
  result["total"] = total;
  json::object& kinds = result["counts"].emplace_object();
  for (const auto& [kind, count] : counts) {
    kinds[boost::describe::enum_to_string(kind, "")] = count;
  }
  return result;
}

// That the read models can't be asked is one of the conditions: the rest is shown all the same.
void answer_attention(Api& api, const Responder& responder, const AttentionQuestion& question,
                      const std::vector<StatusPart>& status_parts) {
  const Position position = api.engine.world().position;
  const auto moment =
      std::make_shared<const AttentionMoment>(attention_moment(api, status_parts, question));
  api.projector.query(
      position,
      [&api, responder, question, &status_parts, moment, position](const RunIndex& index) {
        if (index.applied() != position) {  // the rows were computed anew meanwhile
          return api.post([&api, responder, question, &status_parts] {
            answer_attention(api, responder, question, status_parts);
          });
        }
        api.post([responder, position, view = attention_view(api, &index, *moment)] {
          responder.result(view, position);
        });
      },
      [&api, responder, moment, position](const StoreError&) {
        api.post([&api, responder, moment, position] {
          responder.result(attention_view(api, nullptr, *moment), position);
        });
      });
}

void list_attention(Api& api, Call& call, const std::vector<StatusPart>& status_parts) {
  const auto params = from_json<ListAttention>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, 100, attention_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  answer_attention(api, call.responder, {params->kinds, *limit}, status_parts);
}

}  // namespace

std::vector<Method> attention_methods(std::vector<StatusPart> status_parts) {
  // Shared: a question that is asked again refers to it.
  auto parts = std::make_shared<const std::vector<StatusPart>>(std::move(status_parts));
  return {
      {"attention.list", false, Role::viewer, field_names<ListAttention>(),
       [parts = std::move(parts)](Api& api, Call& call) { list_attention(api, call, *parts); }}};
}

}  // namespace signalbox
