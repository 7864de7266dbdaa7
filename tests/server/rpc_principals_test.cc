// Viewers see no fencing token, and an operator acts for itself.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/server/principals_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

const Principal eve_the_viewer{"token:eve", Role::viewer};
const Principal wes_the_worker{"token:wes", Role::worker};

// Collects the numbers that stand under the name of a fencing token.
void collect_tokens(const json::value& value, std::set<std::string>& found) {
  if (const auto* array = value.if_array()) {
    for (const json::value& each : *array) collect_tokens(each, found);
  }
  const auto* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& [name, each] : *object) {
    const bool is_token = name.ends_with("token") && name != "run_token" && each.is_number();
    if (is_token) found.insert(std::string(name));
    collect_tokens(each, found);
  }
}

// Returns true for the names of positions. They are facts of the log, although the position of a
// grant is its token.
bool names_position(std::string_view name) {
  return name.ends_with("position") || name == "cause" || name == "from" || name == "next_from" ||
         name == "next_cursor";
}

// Returns true for the attribute of a position as OTLP has it: {"key": …, "value": …}.
bool is_position_attribute(const json::object& object) {
  const auto* key = object.if_contains("key");
  return key != nullptr && key->is_string() && object.contains("value") &&
         names_position(std::string(key->as_string()));
}

// Collects where one of `tokens` stands, as a number or as a word of a text, other than as a
// position.
void collect_places(const json::value& value, const std::string& path,
                    const std::set<std::string>& tokens, std::vector<std::string>& places) {
  if (const auto* array = value.if_array()) {
    for (const json::value& each : *array) collect_places(each, path + "[]", tokens, places);
  } else if (const auto* object = value.if_object()) {
    if (is_position_attribute(*object)) return;
    for (const auto& [name, each] : *object) {
      const std::string key(name);
      if (!names_position(key)) collect_places(each, path + "." + key, tokens, places);
    }
  } else {
    const std::string text =
        value.is_string() ? std::string(value.as_string()) : json::serialize(value);
    std::string word;
    for (const char c : text + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        word += c;
      } else {
        if (tokens.contains(word)) places.push_back(path + ": " + text);
        word.clear();
      }
    }
  }
}

class RpcPrincipals : public PrincipalsSite {
 protected:
  // Makes something of everything that has a token. The tokens are numbers that nothing else in an
  // answer is.
  void populate() {
    for (int padding = 0; padding < 1'300; ++padding) take(NoteClockJump{1, 1, "padding"});
    populated_from_ = log.tail() + 1;
    const std::string lock = ask_result("lock.acquire", R"({"key":"deploy","owner":"ann"})");
    run_ = start_run(
        R"({"goal":"g","pipeline":{"name":"q","station":[{"name":"one"},{"name":"two"}]}})");
    const auto claim = ask("station.claim", R"({"worker":"w","lock_token":)" + lock +
                                                R"(,"run_id":")" + run_ + R"("})");
    ASSERT_TRUE(claim.contains("result")) << json::serialize(claim);
    ask("station.heartbeat", R"({"run_id":")" + run_ + R"(","station":"one","token":)" +
                                 json::serialize(claim.at("result").at("claim").at("token")) + "}");
    ask_result("tick.begin", R"({"loop":"nightly","lock_token":)" + lock + "}");
    ask("tick.begin", R"({"loop":"nightly"})");  // refused and recorded
    ask("lock.refresh", R"({"key":"deploy","token":1})");
    deep_ = start_run(
        R"({"goal":"g","pipeline":{"name":"d","station":[{"name":"deep","executor":"deep_work","deep_work":{"step":{"command":["true"]}}}]}})");
    take(DispatchStation{*parse_uuid(deep_), ids.next_span_id(), {}});
    const std::string own =
        std::to_string(engine.world().find_run(*parse_uuid(deep_))->attempt->token);
    const std::string head = R"({"run_id":")" + deep_ + R"(","station":"deep","token":)" + own;
    ask("plan.set_exploration", head + "}");
    ask("plan.set", head + R"(,"steps":[{"id":"s"}]})");
    ask("step.next", R"({"worker":"w","run_id":")" + deep_ + R"(","token":)" + own + "}");
    // Neither the number of all events nor that of all jumps is a token.
    for (int padding = 0; padding < 50; ++padding) take(NoteClockJump{1, 1, "padding"});
  }

  // Returns params with which the query finds what populate() made.
  [[nodiscard]] std::string params_of(const Method& method) const {
    static const std::map<std::string, std::string> values = {
        {"key", R"("deploy")"}, {"types", "[]"}, {"otlp", "true"}};
    json::object params;
    for (const auto& field : method.params->fields) {
      const std::string name(field.name);
      const auto value = values.find(name);
      if (value != values.end() && !(name == "types")) params[name] = json::parse(value->second);
      if (name == "from") params[name] = populated_from_;
    }
    if (method.name.starts_with("state.")) params["stream"] = "run/" + run_;
    const bool of_a_plan = method.name == "plan.get";
    const bool takes_run =
        std::ranges::count(method.params->fields, "run_id", &described_json::Field::name) > 0;
    if (takes_run && method.name != "events.read" && method.name != "events.subscribe" &&
        method.name != "tick.list") {
      params["run_id"] = of_a_plan ? deep_ : run_;
    }
    return json::serialize(params);
  }

  // Returns the tokens that are granted at present, as text.
  [[nodiscard]] std::set<std::string> live_tokens() const {
    std::set<std::string> tokens;
    const World& world = engine.world();
    for (const auto& [key, lock] : world.locks) tokens.insert(std::to_string(lock.token));
    for (const auto& [loop, tick] : world.ticks) tokens.insert(std::to_string(tick.token));
    for (const auto& [id, run] : world.runs) {
      if (run->attempt) tokens.insert(std::to_string(run->attempt->token));
      if (!run->plan) continue;
      for (const StepState& step : run->plan->steps) {
        if (step.token != 0) tokens.insert(std::to_string(step.token));
      }
    }
    return tokens;
  }
  // Asks, and returns where one of `tokens` stands in the answer and in what was delivered.
  std::vector<std::string> places_of_tokens(const Principal& principal, const Method& method,
                                            const std::set<std::string>& tokens) {
    peer = std::make_shared<ListeningPeer>();
    std::vector<std::string> places;
    const auto answer = ask_as(principal, std::string(method.name), params_of(method));
    collect_places(answer, "answer", tokens, places);
    for (const std::string& line : peer->delivered) {
      collect_places(json::parse(line), "delivered", tokens, places);
    }
    return places;
  }

  std::string run_;
  std::string deep_;
  Position populated_from_ = 1;
};

TEST_F(RpcPrincipals, AViewerSeesNoTokenInAnyQuery) {  // G8
  populate();
  std::set<std::string> shown_to_worker;
  for (const Method& method : dispatcher.methods()) {
    if (method.needs != Role::viewer) continue;
    SCOPED_TRACE(method.name);
    const std::string params = params_of(method);
    std::set<std::string> shown;
    collect_tokens(ask_as(eve_the_viewer, std::string(method.name), params), shown);
    for (const std::string& line : peer->delivered) collect_tokens(json::parse(line), shown);
    EXPECT_TRUE(shown.empty()) << *shown.begin() << " of " << shown.size();
    peer = std::make_shared<ListeningPeer>();
    const auto answer = ask_as(wes_the_worker, std::string(method.name), params);
    collect_tokens(answer, shown_to_worker);
    for (const std::string& line : peer->delivered) {
      collect_tokens(json::parse(line), shown_to_worker);
    }
    peer = std::make_shared<ListeningPeer>();
  }
  // The queries did show them to somebody else.
  EXPECT_TRUE(shown_to_worker.contains("token") && shown_to_worker.contains("lock_token"));
}

// Wherever it stands: under another name, as text, in a command to paste, in a trace.
TEST_F(RpcPrincipals, NoAnswerToAViewerHasATokenAnywhere) {  // G8
  populate();
  const auto tokens = live_tokens();
  ASSERT_GE(tokens.size(), 4U);
  std::size_t shown_to_worker = 0;
  for (const Method& method : dispatcher.methods()) {
    if (method.needs != Role::viewer) continue;
    SCOPED_TRACE(method.name);
    const auto places = places_of_tokens(eve_the_viewer, method, tokens);
    EXPECT_TRUE(places.empty()) << places.front();
    shown_to_worker += places_of_tokens(wes_the_worker, method, tokens).size();
  }
  EXPECT_GE(shown_to_worker, tokens.size());
}

TEST(HideTokens, LeavesOutCommandsThatGiveOne) {  // G8
  auto answer =
      json::parse(
          R"({"reasons":[{"next_commands":["signalbox run get R","x --token 7 -y","x --lock-token 7"]}],)"
          R"("next_commands":"not a list"})")
          .as_object();
  hide_tokens(answer);
  EXPECT_EQ(json::serialize(answer), R"({"reasons":[{"next_commands":["signalbox run get R"]}],)"
                                     R"("next_commands":"not a list"})");
}

// The log keeps the digest: who may read its bytes verifies it, and others have no use for it.
TEST_F(RpcPrincipals, AViewerSeesNoDigestOfASecretInAnEvent) {  // G8
  const std::string types = R"("types":["AccessTokenIssued"])";
  const auto read_as = [&](const Principal& principal) {
    const auto page = ask_as(principal, "events.read", "{" + types + "}").at("result");
    return page.at("events").as_array().at(0).at("data").as_object();
  };
  const auto subscribed_as = [&](const Principal& principal) {
    peer->delivered.clear();
    ask_as(principal, "events.subscribe", R"({"from":1,)" + types + "}");
    EXPECT_EQ(peer->delivered.size(), 1U);
    return json::parse(peer->delivered.at(0)).at("params").at("data").as_object();
  };
  ask("access.issue", R"({"name":"ci","role":"worker"})");
  for (const json::object& data : {read_as(eve_the_viewer), subscribed_as(eve_the_viewer)}) {
    EXPECT_TRUE(data.at("secret_sha256").is_null());
    EXPECT_EQ(data.at("name"), "ci");
  }
  for (const json::object& data : {read_as(wes_the_worker), subscribed_as(wes_the_worker)}) {
    EXPECT_TRUE(data.at("secret_sha256").is_string());
  }
}

TEST_F(RpcPrincipals, AnAdminActsForAllAndAnOperatorForItself) {  // G8
  const std::string token = ask_result("lock.acquire", R"({"key":"deploy","owner":"ann"})");
  const std::string release = R"({"key":"deploy","token":)" + token + "}";
  EXPECT_EQ(code_of(ask_as({"token:op", Role::operator_}, "lock.release", release)), "FORBIDDEN");
  const auto types = event_types();
  EXPECT_EQ(std::count(types.begin(), types.end(), "AccessDenied"), 1) << "it is in the log";
  EXPECT_EQ(code_of(ask_as({"token:root", Role::admin}, "lock.release", release)), "");
}

}  // namespace
}  // namespace signalbox
