#include "server/rpc/methods/service_conditions.h"

#include <string>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/platform/space_watch.h"
#include "server/scheduler/service_loops.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct Condition {
  ServiceCondition kind = ServiceCondition::storage_full;
  AttentionItem item;
};
using Conditions = std::vector<Condition>;

std::string text_of(const json::object& object, const char* field) {
  const json::value* value = object.if_contains(field);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Adds a condition. `detail` tells it from others of its kind, and stays the same while it lasts.
AttentionItem& add(Conditions& conditions, ServiceCondition kind, const std::string& detail,
                   std::string sentence,
                   std::vector<std::string> next_commands = {"signalbox status"}) {
  AttentionItem item;
  item.kind = AttentionKind::service;
  item.condition = boost::describe::enum_to_string(kind, "");
  if (!detail.empty()) item.condition += "/" + detail;
  item.text = std::move(sentence);
  item.next_commands = std::move(next_commands);
  return conditions.emplace_back(Condition{kind, std::move(item)}).item;
}

// What a part of the status says of a trouble: null, a text, or an object with its text and time.
struct Trouble {
  ServiceCondition kind;
  const char* part;
  const char* field;
  const char* begin;  // of the sentence
  const char* detail = "";
  const char* command = "signalbox status";
};
constexpr Trouble troubles[] = {
    {ServiceCondition::retention, "retention", "last", "the latest retention failed: "},
    {ServiceCondition::redaction, "redaction", "unfinished",
     "files may have a text that was redacted: "},
    {ServiceCondition::file_retention, "file_retention", "last",
     "the latest removal of files failed: "},
    {ServiceCondition::settings, "settings", "refused",
     "the latest reload of the settings was refused: "},
    {ServiceCondition::artifact_store, "artifact_store", "trouble",
     "the store of artifacts can't be used: "},
    {ServiceCondition::listen, "listen", "trouble", "nobody is served over TCP: "},
    {ServiceCondition::runners, "runners", "trouble", "", "", "signalbox runner list"},
    {ServiceCondition::cell, "cell", "trouble", "the cell: ", "", "signalbox cell status"},
    {ServiceCondition::cell, "cell", "drop_trouble",
     "what the cell has dropped isn't dropped here: ", "drop", "signalbox cell status"},
    {ServiceCondition::cell, "cell", "redaction_trouble",
     "what the cell has redacted isn't erased everywhere: ", "redaction", "signalbox cell status"},
};

void add_trouble(const json::object& status, const Trouble& trouble, Conditions& conditions) {
  const json::value* part = status.if_contains(trouble.part);
  const json::object* parts = part == nullptr ? nullptr : part->if_object();
  const json::value* found = parts == nullptr ? nullptr : parts->if_contains(trouble.field);
  if (found == nullptr) return;
  const json::object said =
      found->is_object() ? found->get_object() : json::object{{"error", *found}};
  const std::string text = text_of(said, "error") + text_of(said, "message");
  if (text.empty()) return;
  std::vector<std::string> commands;
  if (const json::value* next = said.if_contains("next_commands")) {
    for (const json::value& each : next->as_array()) commands.emplace_back(each.as_string());
  }
  if (commands.empty()) commands.emplace_back(trouble.command);
  add(conditions, trouble.kind, trouble.detail, trouble.begin + text, std::move(commands))
      .since_ns = parse_time(text_of(said, "at") + text_of(said, "since")).value_or(0);
}

// Their texts may change with each attempt to write, and another source may fail before them: their
// names are those of their sources.
void add_disk_failures(const json::object& status, Conditions& conditions) {
  const json::object& failures = status.at("disk_failures").as_object();
  for (const auto& failure : failures) {
    add(conditions, ServiceCondition::disk_failure, std::string(failure.key()),
        std::string(failure.value().as_string()));
  }
}

void add_run_root_failures(const json::object& status, Conditions& conditions) {
  const json::value* failures = status.if_contains("run_root_failures");
  if (failures == nullptr) return;
  for (const json::value& each : failures->as_array()) {
    const std::string failure(each.as_string());
    add(conditions, ServiceCondition::run_root, failure, failure);
  }
}

void add_certificate(const json::object& status, Conditions& conditions) {
  const json::value* shown = status.if_contains("certificate");
  const json::object* certificate = shown == nullptr ? nullptr : shown->if_object();
  if (certificate == nullptr) return;
  const std::string state = text_of(*certificate, "state");
  if (state == "valid") return;
  std::string text = "the certificate " + text_of(*certificate, "file");
  if (state == "not_yet_valid") {
    text += " isn't valid before " + text_of(*certificate, "not_before");
  } else {
    text += (state == "expired" ? " was valid until " : " ends at ") +
            text_of(*certificate, "not_after");
  }
  add(conditions, ServiceCondition::certificate, {}, std::move(text));
}

void add_overdue_loops(const Api& api, const ServiceLoops& loops, Conditions& conditions) {
  for (const ScheduledLoop* loop : loops.all()) {
    const std::int64_t overdue_ns = loop->overdue_ns();
    if (overdue_ns < limits::attention_loop_overdue_ms_min * ns_per_ms) continue;
    const std::string& name = loop->name();
    add(conditions, ServiceCondition::loop, name,
        "the service's loop " + name + " was due and hasn't ticked since",
        {"signalbox loop list", "signalbox tick list --loop " + name})
        .since_ns = api.clock.wall_ns() - overdue_ns;
  }
}

Conditions find_conditions(const Api& api, const ServiceSources& sources) {
  Conditions conditions;
  json::object status;
  add_disk_sources(api, status);
  for (const StatusPart& add_to : sources.status_parts) add_to(status);
  if (api.engine.storage_full()) {
    add(conditions, ServiceCondition::storage_full, {},
        "there is no space left for the log: commands are refused until " +
            std::to_string(SpaceWatch::mebibytes_needed) + " MiB are free",
        {"df -h " + shell_word(api.facts.data_directory), "signalbox status"});
  }
  if (const auto rebuilding = api.projector.rebuilding()) {
    add(conditions, ServiceCondition::read_models, {},
        "damaged read models are computed from the log again: " + rebuilding->reason);
  }
  add_disk_failures(status, conditions);
  add_run_root_failures(status, conditions);
  for (const Trouble& each : troubles) add_trouble(status, each, conditions);
  add_certificate(status, conditions);
  add_overdue_loops(api, sources.loops, conditions);
  return conditions;
}

}  // namespace

std::vector<AttentionItem> service_conditions(const Api& api, const ServiceSources& sources) {
  std::vector<AttentionItem> items;
  for (Condition& each : find_conditions(api, sources)) items.push_back(std::move(each.item));
  return items;
}

std::map<ServiceCondition, double> count_conditions(const Api& api, const ServiceSources& sources) {
  std::map<ServiceCondition, double> counts;
  for (const Condition& each : find_conditions(api, sources)) counts[each.kind] += 1;
  return counts;
}

}  // namespace signalbox
