#include "tools/commands/waiting_items.h"

#include <limits>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/views/card_view.h"

namespace signalbox {
namespace {

constexpr std::size_t sizes_asked_max = 32;
constexpr std::chrono::seconds sizes_asked_within{2};

}  // namespace

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

void ChangeSizes::add_to(boost::json::object& item) {
  const bool is_unknown = text_at(item, "kind") == "approval" && !item.contains("patch_bytes");
  if (!is_unknown || asked_ >= sizes_asked_max || taken_ >= sizes_asked_within) return;
  ++asked_;
  const auto began = std::chrono::steady_clock::now();
  // Its size alone: no text follows the end.
  const auto change =
      ask_({{"run_id", text_at(item, "run_id")},
            {"offset", static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())}});
  taken_ += std::chrono::steady_clock::now() - began;
  if (!change || text_at(*change, "files").empty()) return;
  boost::json::object& size = item["change"].emplace_object();
  for (const char* field : {"files", "added", "removed"}) size[field] = number_at(*change, field);
}

std::string change_size_text(const boost::json::object& item) {
  if (item.contains("patch_bytes")) {
    return "a patch of " + number_of(number_at(item, "patch_bytes"), "byte");
  }
  const boost::json::object& change = object_at(item, "change");
  const std::uint64_t files = number_at(change, "files");
  if (files == 0) return {};
  return number_of(files, "file") + " changed, " + number_of(number_at(change, "added"), "line") +
         " added, " + number_of(number_at(change, "removed"), "line") + " removed";
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
