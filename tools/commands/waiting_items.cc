#include "tools/commands/waiting_items.h"

#include <cstdint>
#include <utility>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

constexpr std::uint32_t waiting_page_items = 500;

}  // namespace

Called<boost::json::object> read_waiting_items(const std::vector<std::string>& kinds,
                                               const AskPage& ask) {
  boost::json::object params{{"limit", waiting_page_items}};
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

}  // namespace signalbox
