// `cell.*`: the servers that share this one's log, and which of them writes it.
#include <algorithm>

#include "server/limits.h"
#include "server/rpc/command_call.h"
#include "server/rpc/method.h"
#include "server/rpc/methods/families.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct SwitchCell {
  std::optional<std::string> to;
  std::optional<std::string> from;
};
BOOST_DESCRIBE_STRUCT(SwitchCell, (), (to, from))

void get_cell(Api& /*api*/, Call& call, const CellParts& parts) {
  const auto view = parts.view();
  call.responder.result_at_once(view ? to_json(*view) : json::object{{"cell", nullptr}});
}

Rejection in_no_cell() {
  return {ErrorCode::NOT_ALLOWED, "this server is in no cell: it alone writes its log", {}, {}};
}

// Returns the standbys that could take the cell now.
std::vector<std::string> ready_standbys(const CellView& view) {
  std::vector<std::string> names;
  for (const ReplicaReport& each : view.servers) {
    const bool is_gone = each.silent_ms > limits::cell_gone_ms_max;
    if (each.role == "standby" && each.server.name != view.server.name && !is_gone) {
      names.push_back(each.server.name);
    }
  }
  return names;
}

void switch_cell(Api& /*api*/, Call& call, const CellParts& parts) {
  const auto asked = from_json<SwitchCell>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const auto view = parts.view();
  if (!view) return call.responder.reject(in_no_cell());
  // The call reaches whichever server is active: said twice, it would take the commands back.
  const std::string& active = view->server.name;
  if (asked->from && *asked->from != active) {
    return call.responder.reject(
        {ErrorCode::NOT_ALLOWED,
         active + " takes commands already, and not " + *asked->from,
         {{"cell", view->cell}, {"from", *asked->from}, {"active", active}},
         {"signalbox cell status"}});
  }
  const auto standbys = ready_standbys(*view);
  const std::string to = asked->to.value_or("");
  const bool is_known =
      to.empty() ? !standbys.empty() : std::ranges::find(standbys, to) != standbys.end();
  if (!is_known) {
    return call.responder.reject({ErrorCode::NOT_ALLOWED,
                                  standbys.empty()
                                      ? "no other server of the cell " + view->cell +
                                            " stands by: nobody would take commands"
                                      : to + " doesn't stand by in the cell " + view->cell,
                                  {{"cell", view->cell}, {"to", to}, {"standbys", standbys}},
                                  {"signalbox cell status"}});
  }
  if (const auto begun = parts.switch_over(to); !begun) {
    return call.responder.reject(begun.error());
  }
  call.responder.result(
      {{"cell", view->cell}, {"from", view->server.name}, {"to", text_or_null(to)}});
}

void upgrade(Api& /*api*/, Call& call, const CellParts& parts) {
  const auto view = parts.view();
  if (!view) return call.responder.reject(in_no_cell());
  parts.upgrade(
      [responder = call.responder, cell = view->cell](const Decided<CellUpgrade>& outcome) {
        if (!outcome) return responder.reject(outcome.error());
        responder.result({{"cell", cell},
                          {"from", outcome->from},
                          {"feature_level", outcome->to},
                          {"changed", outcome->from != outcome->to}});
      });
}

Handler of_cell(const CellParts& parts, void (*handle)(Api&, Call&, const CellParts&)) {
  return [parts, handle](Api& api, Call& call) { handle(api, call, parts); };
}

}  // namespace

std::vector<Method> cell_methods(const CellParts& parts) {
  return {
      {"cell.get", false, Role::viewer, params_of<NoParams>(), of_cell(parts, get_cell)},
      {"cell.switch", false, Role::operator_, params_of<SwitchCell>(), of_cell(parts, switch_cell)},
      {"cell.upgrade", false, Role::operator_, params_of<NoParams>(), of_cell(parts, upgrade)}};
}

}  // namespace signalbox
