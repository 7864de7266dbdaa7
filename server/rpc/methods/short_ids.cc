#include "server/rpc/methods/short_ids.h"

#include <cstddef>
#include <vector>

#include "domain/try.h"
#include "projections/run_index.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t candidates_shown_max = 10;

// What is found by an id's tail. `command` shows one of them.
struct NounOfIds {
  const char* name;
  const char* id_field;
  ErrorCode not_found;
  std::string list_command;
  std::string get_command;
};

NounOfIds runs_by_id() {
  return {"run", "run_id", ErrorCode::RUN_NOT_FOUND, "signalbox run list", "signalbox run get "};
}
NounOfIds cards_by_id() {
  return {"card", "card_id", ErrorCode::CARD_NOT_FOUND, "signalbox card list",
          "signalbox card get "};
}

// Returns the digits of an id's end: dashes are left out, letters are in lower case.
Decided<std::string> tail_digits(const NounOfIds& noun, const std::string& id) {
  std::string digits;
  for (const char each : id) {
    if (each != '-')
      digits += each >= 'A' && each <= 'F' ? static_cast<char>(each - 'A' + 'a') : each;
  }
  const bool is_hexadecimal = digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  constexpr std::size_t digits_max = 2 * sizeof(Uuid);
  if (!is_hexadecimal || digits.size() < id_tail_digits_min || digits.size() > digits_max) {
    return reject(ErrorCode::INVALID_PARAMS,
                  "id must be `last`, or the end of a " + std::string(noun.name) +
                      "'s id: at least " + std::to_string(id_tail_digits_min) +
                      " hexadecimal digits",
                  {{"field", std::string("id")}, {"value", id}}, {noun.list_command});
  }
  return digits;
}

tl::unexpected<Rejection> ambiguous(const NounOfIds& noun, const std::string& id,
                                    const std::vector<Uuid>& found) {
  std::vector<std::string> candidates;
  std::vector<std::string> commands;
  for (const Uuid& each : found) {
    candidates.push_back(to_string(each));
    commands.push_back(noun.get_command + to_string(each));
  }
  return reject(ErrorCode::AMBIGUOUS_ID,
                "the ids of several " + std::string(noun.name) + "s end with " + id +
                    "; give more of its end",
                {{"id", id}, {"candidates", std::move(candidates)}}, std::move(commands));
}

tl::unexpected<Rejection> none_found(const NounOfIds& noun, const std::string& id) {
  const std::string message = id == "last"
                                  ? "there is no " + std::string(noun.name) + " yet"
                                  : "of the newest " + std::to_string(id_tail_rows_max) + " " +
                                        noun.name + "s none has an id that ends with " + id;
  return reject(noun.not_found, message, {{"id", id}}, {noun.list_command});
}

Decided<json::object> the_only_one(const NounOfIds& noun, const std::string& id,
                                   const std::vector<Uuid>& found) {
  if (found.empty()) return none_found(noun, id);
  if (found.size() > 1) return ambiguous(noun, id, found);
  return json::object{{noun.id_field, to_string(found.front())}};
}

Decided<json::object> found_run(const RunIndex& index, const std::string& id,
                                const std::string& tail) {
  if (id != "last") {
    const auto found = index.find_by_tail(tail, candidates_shown_max, id_tail_rows_max);
    if (!found) return unreadable(found.error());
    return the_only_one(runs_by_id(), id, *found);
  }
  const auto newest = index.list({}, 1);
  if (!newest) return unreadable(newest.error());
  std::vector<Uuid> found;
  for (const RunRow& row : newest->rows) found.push_back(row.run_id);
  return the_only_one(runs_by_id(), id, found);
}

Decided<json::object> found_card(const CardIndex& index, const std::string& id,
                                 const std::string& tail) {
  if (id != "last") {
    const auto found = index.find_by_tail(tail, candidates_shown_max, id_tail_rows_max);
    if (!found) return unreadable(found.error());
    return the_only_one(cards_by_id(), id, *found);
  }
  const auto newest = index.list({}, 1);
  if (!newest) return unreadable(newest.error());
  std::vector<Uuid> found;
  for (const CardRow& row : newest->rows) found.push_back(row.card_id);
  return the_only_one(cards_by_id(), id, found);
}

// Reads the params. Returns the id as given, and its digits unless it is "last".
struct ShortId {
  std::string id;
  std::string tail;
};

Decided<ShortId> read_short_id(const NounOfIds& noun, const json::object& params) {
  auto read = TRY(from_json<FindId>(params));
  ShortId given{std::move(read.id), {}};
  if (given.id == "last") return given;
  auto tail = TRY(tail_digits(noun, given.id));
  given.tail = std::move(tail);
  return given;
}

}  // namespace

void find_run(Api& api, Call& call) {
  auto given = read_short_id(runs_by_id(), call.params);
  if (!given) return call.responder.reject(given.error());
  answer_from_read_models(api, call.responder, [given = std::move(*given)](const RunIndex& index) {
    return found_run(index, given.id, given.tail);
  });
}

void find_card(Api& api, Call& call) {
  auto given = read_short_id(cards_by_id(), call.params);
  if (!given) return call.responder.reject(given.error());
  answer_from_read_models(api, call.responder, [given = std::move(*given)](const RunIndex& index) {
    return found_card(index.cards(), given.id, given.tail);
  });
}

}  // namespace signalbox
