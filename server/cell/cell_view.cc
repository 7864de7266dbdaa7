#include "server/cell/cell_view.h"

#include <set>
#include <string_view>

#include <boost/json/array.hpp>

#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

const char* name_of(CellRole role) { return role == CellRole::active ? "active" : "standby"; }

}  // namespace

std::size_t count_versions(const std::vector<ReplicaReport>& servers) {
  std::set<std::string_view> versions;
  for (const ReplicaReport& each : servers) {
    if (each.silent_ms <= limits::cell_upgrade_report_ms_max) versions.insert(each.version);
  }
  return versions.size();
}

std::string url_of(const std::string& address) {
  return (address.starts_with("tls://") ? "https" : "http") +
         address.substr(std::min(address.size(), address.find("://")));
}

json::object to_json(const CellView& view) {
  json::array servers;
  for (const ReplicaReport& each : view.servers) {
    servers.push_back({{"server", each.server.name},
                       {"address", each.server.address},
                       {"role", each.role},
                       {"version", each.version},
                       {"feature_level", each.feature_level},
                       {"applied", each.applied},
                       {"erased_through", each.erased_through},
                       {"root", text_or_null(each.root)},
                       {"seen_at", format_time(each.seen_ns)}});
  }
  json::object result;
  result["cell"] = view.cell;
  result["server"] = view.server.name;
  result["address"] = view.server.address;
  result["role"] = name_of(view.role);
  result["epoch"] = view.epoch;
  result["feature_level"] = view.feature_level;
  result["feature_level_newest"] = feature_level_newest;
  // One that raised the epoch and got no further doesn't take commands.
  const bool has_active = !view.holder.name.empty() &&
                          (view.role == CellRole::active || view.holder.name != view.server.name);
  result["active"] =
      has_active ? json::value{{"server", view.holder.name}, {"address", view.holder.address}}
                 : json::value(nullptr);
  const bool is_known = view.role == CellRole::standby && view.current_ns != 0;
  result["current_at"] =
      is_known ? json::value(format_time(view.current_ns)) : json::value(nullptr);
  result["trouble"] = text_or_null(view.trouble);
  result["waiting_append"] =
      view.append_waiting_since_ns == 0
          ? json::value(nullptr)
          : json::value{{"since", format_time(view.append_waiting_since_ns)},
                        {"acknowledged", view.acknowledged},
                        {"reason", text_or_null(view.append_waiting_because)}};
  result["durability"] = text_or_null(view.durability);
  result["drop_trouble"] = text_or_null(view.undropped_because);
  result["redactions_due"] = json::array(view.redactions_due.begin(), view.redactions_due.end());
  result["redaction_trouble"] = text_or_null(view.unerased_because);
  result["database_log"] = view.log_begin
                               ? json::value{{"begins_after", *view.log_begin},
                                             {"held_by", text_or_null(view.log_held_by)},
                                             {"kept_because", text_or_null(view.log_kept_because)}}
                               : json::value(nullptr);
  result["servers_at"] = time_or_null(view.servers_at_ns);
  result["servers_trouble"] = text_or_null(view.servers_trouble);
  result["servers"] = std::move(servers);
  return result;
}

}  // namespace signalbox
