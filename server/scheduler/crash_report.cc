#include "server/scheduler/crash_report.h"

#include <algorithm>

#include <boost/json/serialize.hpp>

#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {

std::string crash_report(const CrashFacts& facts, std::span<const CrashVerdict> verdicts) {
  namespace json = boost::json;
  json::object counts;
  for (const Verdict each :
       {Verdict::poll, Verdict::requeue, Verdict::expired, Verdict::needs_operator}) {
    counts[boost::describe::enum_to_string(each, "?")] =
        std::count_if(verdicts.begin(), verdicts.end(),
                      [each](const CrashVerdict& verdict) { return verdict.item.verdict == each; });
  }
  json::array items;
  for (const CrashVerdict& verdict :
       verdicts.first(std::min(verdicts.size(), crash_report_items_max))) {
    json::object item = to_json(verdict.item).as_object();
    item["next_commands"] = json::array(verdict.next_commands.begin(), verdict.next_commands.end());
    items.push_back(std::move(item));
  }
  json::object report;
  report["schema_version"] = "crash_report.v1";
  report["created_at"] = format_time(facts.created_at_ns);
  report["incarnation"] = facts.incarnation;
  report["version"] = SIGNALBOX_VERSION;
  report["last_durable_position"] = facts.last_durable_position;
  report["torn_bytes"] = facts.torn_bytes;
  report["items_total"] = verdicts.size();
  report["items_omitted"] = verdicts.size() - items.size();
  report["verdicts"] = std::move(counts);
  report["items"] = std::move(items);
  return json::serialize(report) + "\n";
}

}  // namespace signalbox
