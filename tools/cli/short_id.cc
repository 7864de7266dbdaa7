#include "tools/cli/short_id.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "domain/ids.h"
#include "domain/try.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::string_view ellipsis = "…";
constexpr std::size_t digits_min = 4;  // the server's id_tail_digits_min

std::string_view without_ellipsis(std::string_view text) {
  if (text.starts_with(ellipsis)) text.remove_prefix(ellipsis.size());
  return text;
}

// A param that is an id, the method that finds it, and the field of its answer.
struct Finder {
  const char* param;
  const char* method;
  const char* field;
};

// A run is a span of its own id; an attempt's is given whole.
constexpr std::array finders = {Finder{"run_id", "run.find", "run_id"},
                                Finder{"card_id", "card.find", "card_id"},
                                Finder{"span_id", "run.find", "run_id"}};

// Returns whether different ids have different ends of that many characters.
bool are_told_apart(const std::vector<std::string>& ids, std::size_t characters) {
  std::set<std::string> whole;
  std::set<std::string> ends;
  for (const std::string& id : ids) {
    if (!whole.insert(id).second) continue;
    if (!ends.insert(id.substr(id.size() - std::min(id.size(), characters))).second) return false;
  }
  return true;
}

}  // namespace

bool is_short_id(std::string_view text) {
  if (text == "last") return true;
  const std::string_view tail = without_ellipsis(text);
  const auto digits = static_cast<std::size_t>(
      std::count_if(tail.begin(), tail.end(), [](char each) { return each != '-'; }));
  return digits >= digits_min && digits < 2 * sizeof(Uuid) &&
         tail.find_first_not_of("0123456789abcdefABCDEF-") == std::string_view::npos;
}

Called<void> complete_ids(json::object& params, const MethodCall& call) {
  for (const auto& [param, method, field] : finders) {
    const std::string given = text_at(params, param);
    // The finder says what an id may be, also of what is none.
    if (given.empty() || parse_uuid(given)) continue;
    const auto found = TRY(call(method, {{"id", std::string(without_ellipsis(given))}}));
    params[param] = text_at(found, field);
  }
  return {};
}

std::vector<std::string> unique_tails(const std::vector<std::string>& ids) {
  std::vector<std::string> known;
  for (const std::string& id : ids) {
    if (parse_uuid(id)) known.push_back(id);
  }
  constexpr std::size_t id_columns = 36;
  std::size_t characters = id_tail_columns;
  while (characters < id_columns && !are_told_apart(known, characters)) ++characters;
  std::vector<std::string> tails;
  for (const std::string& id : ids) {
    tails.push_back(parse_uuid(id) ? id.substr(id.size() - characters) : id);
  }
  return tails;
}

}  // namespace signalbox
