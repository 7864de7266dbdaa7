#include "tools/commands/waiting_items.h"

#include <cstdint>
#include <utility>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "tools/cli/json_fields.h"
#include "tools/views/card_view.h"

namespace signalbox {

Called<boost::json::object> read_waiting_items(const std::vector<std::string>& kinds,
                                               const AskPage& ask, std::uint32_t page_items) {
  boost::json::object params{{"limit", page_items}};
  if (!kinds.empty()) params["kinds"] = boost::json::array(kinds.begin(), kinds.end());
  boost::json::array items;
  bool is_partial = false;
  for (;;) {
    boost::json::object page = TRY(ask(params));
    for (const boost::json::value& item : array_at(page, "items")) {
      if (item.is_object()) items.push_back(item);
    }
    is_partial = is_partial || true_at(page, "partial");
    const std::string cursor = text_at(page, "next_cursor");
    if (cursor.empty()) {
      page["total"] = items.size();
      page["items"] = std::move(items);
      page["partial"] = is_partial;
      return page;
    }
    params["cursor"] = cursor;
  }
}

std::vector<std::string> findings_of(const boost::json::object& item) {
  std::vector<std::string> findings;
  if (const std::string changed = changed_checks_text(item); !changed.empty()) {
    findings.push_back("CHANGES WHAT CHECKS IT: " + changed);
  }
  for (const boost::json::value& sentence : array_at(item, "left_out")) {
    findings.push_back(scalar_text(sentence));
  }
  return findings;
}

}  // namespace signalbox
