#include "tests/simulation/owner_client.h"

#include <algorithm>
#include <array>

#include "domain/service_loops.h"
#include "server/rpc/pipeline_json.h"
#include "tests/simulation/any_settings.h"
#include "tests/simulation/simulated_repositories.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr int owner_projects_max = 2;
constexpr int owner_puts_max = 6;
constexpr int owner_cards_max = 7;
constexpr std::int64_t owner_patience_ms = 2000;

std::string repository_of(const std::string& project) { return "/repositories/" + project; }

}  // namespace

void OwnerClient::act() {
  if (calm()) return tidy_up();
  if (projects_.empty()) return put_project();
  switch (environment_.random.below(14)) {
    case 0:
      return put_project();
    case 1:
    case 2:
      return write_policy();
    case 3:
    case 4:
      return act_on_card();
    case 5:
      return trigger();
    case 6:
    case 7:
      return look();
    case 8:
      return list();
    default:
      return submit();
  }
}

// Faults have stopped: unblocks what is blocked until everything is done.
void OwnerClient::tidy_up() {
  if (!wrote_last_policy_) {
    wrote_last_policy_ = true;
    for (const std::string& project : projects_) {
      context_.repositories.write_policy(repository_of(project), calm_policy());
    }
  }
  known_cards_ = 0;
  ask("card.list", {{"status", "blocked"}, {"limit", 100}}, owner_patience_ms,
      &OwnerClient::on_listed);
}

void OwnerClient::put_project() {
  const std::int64_t number = between(1, owner_projects_max);
  project_ = name() + "-project-" + std::to_string(number);
  const bool known = std::find(projects_.begin(), projects_.end(), project_) != projects_.end();
  if (++puts_ > owner_puts_max && known) return wait();
  json::object params{{"name", project_},
                      {"repository", repository_of(project_)},
                      {"pipeline", pipeline_to_json(any_card_pipeline(environment_.random))}};
  if (one_in(2)) params["remote"] = "origin";
  ask("project.put", params, owner_patience_ms, &OwnerClient::on_put);
}

void OwnerClient::on_put(const Reply& reply) {
  expect_code(reply, {"INVALID_PARAMS"});  // its repository can't be read
  const bool known = std::find(projects_.begin(), projects_.end(), project_) != projects_.end();
  if (reply.code.empty() && !known) projects_.push_back(project_);
  wait();
}

void OwnerClient::write_policy() {
  context_.repositories.write_policy(repository_of(environment_.random.any_of(projects_)),
                                     any_policy(environment_.random));
  wait();
}

void OwnerClient::submit() {
  if (submitted_ >= owner_cards_max) return wait();
  json::object params{{"project", environment_.random.any_of(projects_)},
                      {"title", name() + " card " + std::to_string(++submitted_)}};
  // Few keys and priorities, so that cards share them, also with those of other owners.
  if (one_in(3)) params["key"] = "key " + std::to_string(between(1, 2));
  if (one_in(2)) params["priority"] = between(-1, 2);
  if (one_in(2)) params["immediate"] = one_in(2);
  if (one_in(3)) params["brief"] = "as well as you can";
  ask("card.submit", params, owner_patience_ms, &OwnerClient::on_submitted);
}

void OwnerClient::on_submitted(const Reply& reply) {
  expect_code(reply, {});
  if (reply.code.empty()) cards_.emplace_back(reply.result.at("card_id").as_string());
  wait();
}

void OwnerClient::act_on_card() {
  if (cards_.empty()) return wait();
  card_id_ = environment_.random.any_of(cards_);
  if (one_in(3)) {
    return ask("card.block", {{"card_id", card_id_}, {"reason", "not now"}}, owner_patience_ms,
               &OwnerClient::on_changed);
  }
  if (one_in(3)) {
    return ask("card.set_priority", {{"card_id", card_id_}, {"priority", between(-1, 2)}},
               owner_patience_ms, &OwnerClient::on_changed);
  }
  ask("card.unblock", {{"card_id", card_id_}}, owner_patience_ms, &OwnerClient::on_changed);
}

// The card may be merged, or under way.
void OwnerClient::on_changed(const Reply& reply) {
  expect_code(reply, {"CARD_NOT_FOUND", "CARD_BUSY"});
  wait();
}

void OwnerClient::trigger() {
  const std::array loops{heartbeat_loop_name, heartbeat_loop_name, synthesizer_loop_name,
                         prune_loop_name};
  loop_ = environment_.random.any_of(loops);
  ask("loop.trigger", {{"loop", loop_}, {"reason", "now"}}, owner_patience_ms,
      &OwnerClient::on_triggered);
}

void OwnerClient::on_triggered(const Reply& reply) {
  expect_code(reply, {});
  wait();
}

void OwnerClient::look() {
  if (cards_.empty() || one_in(4)) {
    project_ = environment_.random.any_of(projects_);
    return ask("project.get", {{"name", project_}}, owner_patience_ms, &OwnerClient::on_looked);
  }
  if (one_in(8)) return ask("loop.list", {}, owner_patience_ms, &OwnerClient::on_looked);
  card_id_ = environment_.random.any_of(cards_);
  ask(one_in(3) ? "card.why" : "card.get", {{"card_id", card_id_}}, owner_patience_ms,
      &OwnerClient::on_card);
}

void OwnerClient::on_looked(const Reply& reply) {
  expect_code(reply, {});
  wait();
}

// Shares the card's run with the other clients, which may act on it.
void OwnerClient::on_card(const Reply& reply) {
  expect_code(reply, {});
  if (reply.code.empty()) {
    if (const json::value* card = reply.result.if_contains("card")) {
      const json::value& run = card->at("run_id");
      const auto& known = context_.run_ids;
      if (run.is_string() &&
          std::find(known.begin(), known.end(), run.as_string()) == known.end()) {
        context_.run_ids.emplace_back(run.as_string());
      }
    }
  }
  wait();
}

void OwnerClient::list() {
  known_cards_ = cards_.size();
  ask("card.list", {{"limit", 100}}, owner_patience_ms, &OwnerClient::on_listed);
}

void OwnerClient::on_listed(const Reply& reply) {
  expect_code(reply, {});
  if (!reply.code.empty()) return wait();
  const json::array& cards = reply.result.at("cards").as_array();
  environment_.expect(cards.size() + environment_.dropped.cards.size() >= known_cards_,
                      "a card that was acknowledged isn't listed");
  if (!calm() || cards.empty()) return wait();
  const json::object& first = cards.front().as_object();
  const json::object* const waiting = first.at("waiting").if_object();
  const bool merges_slowly = waiting != nullptr && waiting->at("reason") == "merge_deferred";
  if (first.at("status") != "blocked" && !merges_slowly) return wait();
  card_id_ = std::string(first.at("card_id").as_string());
  ask("card.unblock", {{"card_id", card_id_}}, owner_patience_ms, &OwnerClient::on_changed);
}

}  // namespace signalbox::simulation
