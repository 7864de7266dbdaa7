// `project.*`: the repositories in which cards are worked on, with their policies.
#include <algorithm>

#include "domain/try.h"
#include "server/board/repository_check.h"
#include "server/engine/engine.h"
#include "server/limits.h"
#include "server/rpc/command_call.h"
#include "server/rpc/known_pipeline.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/project_views.h"
#include "server/rpc/page_cursor.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Decided<PutProject> read_put(KnownPipeline& known_pipeline, json::object& params) {
  std::optional<PipelineDefinition> pipeline;
  if (const json::value* tables = params.if_contains("pipeline");
      tables != nullptr && !tables->is_null()) {
    const auto read = TRY(known_pipeline.read(*tables));
    pipeline = read->definition;
  }
  params.erase("pipeline");
  auto command = from_json<PutProject>(params);
  if (command) command->pipeline = std::move(pipeline);
  return command;
}

void apply_put(Api& api, const Call& call, const PutProject& command) {
  call.responder.answer(outcome_of(api, call.origin, command, put_project_result, [&] {
    return json::object{{"name", command.name},
                        {"repository", command.repository},
                        {"base", command.base.value_or("main")},
                        {"remote", command.remote.value_or("")},
                        {"changed", false}};
  }));
}

Rejection refusal_of(const PutProject& command, LaneFailure why) {
  if (why == LaneFailure::late) return repository_hangs(command).error();
  return {ErrorCode::OVERLOADED,
          "the repository is being checked for others, or its disk doesn't answer",
          {{"repository", command.repository},
           {"lane_waiting_max", static_cast<std::int64_t>(limits::lane_waiting_max)}},
          {"signalbox status"}};
}

using CheckRepository = std::function<Decided<void>(const PutProject& command)>;

void put(Api& api, Call& call, KnownPipeline& known_pipeline, const CheckRepository& check) {
  auto command = read_put(known_pipeline, call.params);
  if (!command) return call.responder.reject(command.error());
  if (answered_before(api, call, put_project_result)) return;
  // A command that is rejected anyway needs no check of the disk.
  const auto decided =
      decide(api.engine.world(), *command, Now{api.engine.now_ns(), call.origin.sender()});
  if (!decided) return call.responder.reject(decided.error());
  Lane lane{.name = "check of " + command->repository, .deadline_ms = limits::project_put_ms_max};
  lane.failed = [responder = call.responder, command = *command](LaneFailure why) {
    responder.reject(refusal_of(command, why));
  };
  api.repositories.run(std::move(lane),
                       [&api, check, call = Call{{}, call.origin, call.responder},
                        command = std::move(*command)]() mutable -> std::function<void()> {
                         auto checked = check(command);
                         return [&api, call = std::move(call), command = std::move(command),
                                 checked = std::move(checked)]() mutable {
                           if (answered_before(api, call, put_project_result)) return;
                           if (!checked) return call.responder.reject(checked.error());
                           apply_put(api, call, command);
                         };
                       });
}

struct GetProject {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(GetProject, (), (name))

// Answers with what the project's cards will miss, which is found off the engine's thread, for the
// project as it is now.
void check_project(Api& api, Call& call, const CheckProject& check) {
  const auto params = from_json<GetProject>(call.params);
  if (!params) return call.responder.reject(params.error());
  const Project* found = api.engine.world().find_project(params->name);
  if (found == nullptr) return call.responder.reject(project_not_found(params->name));
  Lane lane{.name = "check of " + found->repository, .deadline_ms = limits::project_put_ms_max};
  lane.failed = [responder = call.responder, project = *found](LaneFailure why) {
    PutProject command;
    command.name = project.name;
    command.repository = project.repository;
    responder.reject(refusal_of(command, why));
  };
  api.repositories.run(std::move(lane),
                       [check, responder = call.responder, project = *found,
                        shown = api.engine.world().position]() -> std::function<void()> {
                         json::object result = check(project);
                         result["name"] = project.name;
                         return [responder, shown, result = std::move(result)]() mutable {
                           responder.result(std::move(result), shown);
                         };
                       });
}

struct ListProjects {
  std::optional<std::uint32_t> limit;
  std::optional<std::string> cursor;
};
BOOST_DESCRIBE_STRUCT(ListProjects, (), (limit, cursor))

// The project may be gone if its ProjectPut was rolled back meanwhile.
RowsView whole_project_view(const Api& api, const std::string& name) {
  const Project* project = api.engine.world().find_project(name);
  if (project == nullptr) {
    return [name](const RunIndex&) -> Decided<json::object> {
      return tl::unexpected(project_not_found(name));
    };
  }
  return [&api, project = *project](const RunIndex& index) -> Decided<json::object> {
    auto view = project_view(api, index, project, /*whole=*/true);
    if (!view) return view;
    return json::object{{"project", std::move(*view)}};
  };
}

void get_project(Api& api, Call& call) {
  const auto params = from_json<GetProject>(call.params);
  if (!params) return call.responder.reject(params.error());
  if (api.engine.world().find_project(params->name) == nullptr) {
    return call.responder.reject(project_not_found(params->name));
  }
  answer_from_moment(api, call.responder,
                     [&api, name = params->name] { return whole_project_view(api, name); });
}

// Returns the first `limit` + 1 projects after `cursor`, ordered by name.
std::vector<Project> projects_after(const World& world, const std::string& cursor,
                                    std::size_t limit) {
  std::vector<const Project*> found;
  for (const auto& [name, project] : world.projects) {
    if (name > cursor) found.push_back(&project);
  }
  const auto by_name = [](const Project* a, const Project* b) { return a->name < b->name; };
  const std::size_t wanted = std::min(found.size(), limit + 1);
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted), found.end(),
                    by_name);
  std::vector<Project> projects;
  for (std::size_t place = 0; place < wanted; ++place) projects.push_back(*found[place]);
  return projects;
}

RowsView projects_view(const Api& api, std::uint32_t limit, const std::string& cursor) {
  return [&api, limit, projects = projects_after(api.engine.world(), cursor, limit)](
             const RunIndex& index) -> Decided<json::object> {
    json::array rows;
    for (const Project& project : projects) {
      if (rows.size() == limit) break;
      auto row = project_view(api, index, project, /*whole=*/false);
      if (!row) return row;
      rows.push_back(std::move(*row));
    }
    json::object result;
    result["projects"] = std::move(rows);
    result["next_cursor"] = projects.size() > limit
                                ? json::value(cursor_text(projects[limit - 1].name))
                                : json::value(nullptr);
    return result;
  };
}

void list_projects(Api& api, Call& call) {
  const auto params = from_json<ListProjects>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, 100, project_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  const auto cursor = read_cursor(params->cursor, "signalbox project list");
  if (!cursor) return call.responder.reject(cursor.error());
  answer_from_moment(api, call.responder, [&api, limit = *limit, cursor = *cursor] {
    return projects_view(api, limit, cursor);
  });
}

}  // namespace

std::vector<Method> project_methods(std::shared_ptr<KnownPipeline> known_pipeline,
                                    CheckRepository check_repository, CheckProject find_warnings) {
  const Handler put_with_parts = [known_pipeline = std::move(known_pipeline),
                                  check = std::move(check_repository)](Api& api, Call& call) {
    put(api, call, *known_pipeline, check);
  };
  return {
      {"project.put", true, Role::operator_, params_of<PutProject>(), put_with_parts},
      {"project.check", false, Role::operator_, params_of<GetProject>(),
       [check = std::move(find_warnings)](Api& api, Call& call) {
         check_project(api, call, check);
       }},
      {"project.get", false, Role::viewer, params_of<GetProject>(), get_project},
      {"project.list", false, Role::viewer, params_of<ListProjects>(), list_projects},
  };
}

}  // namespace signalbox
