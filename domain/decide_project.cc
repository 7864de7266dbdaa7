// Decisions about projects: their settings, their policies, and the worktrees of their cards.
#include <map>

#include "domain/admission.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/placement.h"
#include "domain/refusals.h"
#include "domain/text_parts.h"
#include "domain/try.h"

namespace signalbox {
namespace {

Decided<void> validate(const PutProject& command) {
  TRY(require_line("name", command.name, limits::name_bytes_max));
  TRY(require_absolute("repository", command.repository));
  if (command.keep_pipeline && command.pipeline) {
    return reject(ErrorCode::INVALID_PARAMS, "keep_pipeline keeps the one that there is",
                  {{"field", std::string("pipeline")}});
  }
  if (command.base) TRY(require_base(*command.base, "a branch"));
  TRY(require_no_credentials("remote", command.remote.value_or(""),
                             "give them to git's credential helper, as the server's user",
                             "git config --global credential.helper store"));
  return require_at_most("remote", command.remote.value_or(""), limits::path_bytes_max);
}

const Project* known(const World& world, const std::string& name) {
  return world.find_project(name);
}

tl::unexpected<Rejection> project_not_found(const std::string& name) {
  return reject(ErrorCode::PROJECT_NOT_FOUND, "there is no project " + name, {{"project", name}},
                {"signalbox project list",
                 "signalbox project put " + shell_word(name) + " --repository PATH"});
}

// Returns the command that ends what keeps the card's work on its base.
std::string command_to_let_go(const Card& card) {
  if (card.is_merging()) return "signalbox run cancel " + to_string(card.merge_run_id);
  if (card.has_agent()) return "signalbox run cancel " + to_string(card.run_id);
  return "signalbox card block " + to_string(card.id) + " --reason 'the project gets another base'";
}

// CARD_BUSY while cards of the project have work that began on its base: a merge takes the base
// that the project has by then, and what else the former one has would come along.
Decided<void> require_no_work(const World& world, const Project& project, const std::string& base) {
  std::map<CardId, const Card*> cards;
  for (const auto& [id, card] : world.board.cards()) {
    if (card->project != project.name) continue;
    const bool has_work = card->has_agent() || card->status == CardStatus::verified;
    if (has_work || goes_on_with_run(world, *card)) cards.emplace(id, card.get());
  }
  if (cards.empty()) return {};
  const Card& first = *cards.begin()->second;
  return reject(
      ErrorCode::CARD_BUSY,
      "the project " + project.name + " has work that began on " + project.base +
          " and isn't merged, such as that of card " + to_string(first.id) +
          ": wait until it is merged; or cancel the cards' runs and block " +
          "the other cards, put the project, and unblock them, so that they are done again from " +
          base + "; or put another project for " + base,
      {{"project", project.name},
       {"base", project.base},
       {"cards", static_cast<std::int64_t>(cards.size())},
       {"card_id", to_string(first.id)},
       {"status", std::string(name_of(first.status))},
       {"run_id", to_string(first.run_id)}},
      {"signalbox card list --project " + shell_word(project.name), command_to_let_go(first)});
}

}  // namespace

Decided<NewEvents> decide(const World& world, const PutProject& command, const Now&) {
  TRY(validate(command));
  const Project* before = known(world, command.name);
  if (command.keep_pipeline && before == nullptr) return project_not_found(command.name);
  ProjectPut put;
  put.repository = command.repository;
  put.base = command.base.value_or("main");
  put.remote = command.remote.value_or("");
  if (command.keep_pipeline) {
    put.pipeline = before->pipeline;
  } else {
    put.pipeline = command.pipeline ? *command.pipeline : card_pipeline(put.remote);
  }
  TRY(validate(put.pipeline));
  for (const StationDefinition& station : put.pipeline.stations) {
    if (labels_of(station).empty() || !put.remote.empty()) continue;
    return reject(ErrorCode::PIPELINE_INVALID,
                  "work of a runner comes to the board through the repository's remote: a project "
                  "whose pipeline has runs_on names one",
                  {{"field", std::string("runs_on")}},
                  {"signalbox project put " + shell_word(command.name) + " --repository " +
                   shell_word(command.repository) + " --remote origin --pipeline FILE"});
  }
  // The project's checks are part of the merge pipeline, too, which has to be valid as well.
  Project project;
  project.remote = put.remote;
  project.pipeline = put.pipeline;
  TRY(validate(*run_of_merge(project, {}).pipeline));
  if (before == nullptr && world.projects.size() >= limits::projects_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "there are too many projects",
                  {{"projects_max", static_cast<std::int64_t>(limits::projects_max)}},
                  {"signalbox project list"});
  }
  if (before != nullptr && before->repository == put.repository && before->base == put.base &&
      before->remote == put.remote && before->pipeline == put.pipeline) {
    return NewEvents{};
  }
  if (before != nullptr && before->base != put.base) {
    TRY(require_no_work(world, *before, put.base));
  }
  return NewEvents{{Stream::project(command.name), {}, 0, ProjectEvent{std::move(put)}}};
}

Decided<NewEvents> decide(const World& world, const AdoptPolicy& command, const Now&) {
  const Project* project = known(world, command.project);
  if (project == nullptr) return project_not_found(command.project);
  const bool is_gone = command.digest.is_zero() && project->policy_file_seen;
  const Policy policy = is_gone ? policy_without_file(project->policy) : command.policy;
  const bool is_known = project->policy_digest == command.digest && project->policy == policy &&
                        project->refused_digest.is_zero();
  if (is_known) return NewEvents{};
  return NewEvents{{Stream::project(command.project),
                    {},
                    0,
                    ProjectEvent{PolicyAdopted{command.digest, policy}}}};
}

Decided<NewEvents> decide(const World& world, const RefusePolicy& command, const Now&) {
  const Project* project = known(world, command.project);
  if (project == nullptr) return project_not_found(command.project);
  if (project->refused_digest == command.digest) return NewEvents{};
  return NewEvents{{Stream::project(command.project),
                    {},
                    0,
                    ProjectEvent{PolicyRefused{
                        command.digest, command.line,
                        std::string(utf8_prefix(command.message, limits::reason_bytes_max))}}}};
}

Decided<NewEvents> decide(const World& world, const NoteWorktree& command, const Now&) {
  if (known(world, command.project) == nullptr) return project_not_found(command.project);
  ProjectEvent event =
      command.removed
          ? ProjectEvent{WorktreeRemoved{command.run_id, command.path, command.rescue_ref}}
          : ProjectEvent{
                WorktreeLeft{command.run_id, command.path,
                             std::string(utf8_prefix(command.reason, limits::reason_bytes_max))}};
  return NewEvents{{Stream::project(command.project), {}, 0, std::move(event)}};
}

}  // namespace signalbox
