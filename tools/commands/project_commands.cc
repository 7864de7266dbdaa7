// `signalbox project …`: the git repositories that cards belong to.
#include <memory>
#include <optional>

#include "domain/refusals.h"
#include "tools/cli/absolute_path.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/commands/pipeline_file.h"
#include "tools/views/card_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct PutProjectOptions {
  std::string name, repository;
  std::optional<std::string> base, remote, pipeline, command_id;
  bool keep_pipeline = false;
};

// One line for each warning, and the commands below it; then what the server couldn't check.
std::string warnings_text(const json::object& result, const ConnectionOptions& typed) {
  std::string text;
  for (const json::value& each : array_at(result, "warnings")) {
    if (!each.is_object()) continue;
    const json::object& warning = each.as_object();
    text += "warning: " + printable(text_at(warning, "text")) + "\n";
    for (const json::value& command : array_at(warning, "next_commands")) {
      text += "  try: " + printable(with_connection(scalar_text(command), typed)) + "\n";
    }
  }
  const json::array& not_checked = array_at(result, "not_checked");
  if (not_checked.empty()) return text;
  text += "warning: git gave no answer about these, so they weren't checked:\n ";
  for (const json::value& code : not_checked) text += " " + printable(scalar_text(code));
  return text + "\n  try: " +
         with_connection("signalbox project check " + shell_word(text_at(result, "name")), typed) +
         "\n";
}

ExitCode put(const Invocation& invocation, const PutProjectOptions& options) {
  const auto view = [](const json::object& result, const Terminal&) {
    return text_at(result, "name") + (true_at(result, "changed") ? ": saved\n" : ": unchanged\n");
  };
  auto repository = absolute_path("--repository", options.repository);
  if (!repository) return answer(invocation, tl::unexpected(repository.error()), view);
  json::object params{{"name", options.name}, {"repository", *std::move(repository)}};
  if (options.pipeline) {
    auto tables = pipeline_tables(*options.pipeline);
    if (!tables) return answer(invocation, tl::unexpected(tables.error()), view);
    params["pipeline"] = std::move(*tables);
  }
  set_param(params, "base", options.base);
  set_param(params, "remote", options.remote);
  if (options.keep_pipeline) params["keep_pipeline"] = true;
  set_param(params, "command_id", options.command_id);
  auto result = call_server(invocation, "project.put", std::move(params));
  if (result) {
    // The project is saved, whatever becomes of this: an older server doesn't know the method.
    const auto checked = call_server(invocation, "project.check", {{"name", options.name}});
    if (checked && !invocation.json) {
      write_message(warnings_text(*checked, invocation.connection()));
    }
    if (checked && invocation.json) {
      (*result)["warnings"] = array_at(*checked, "warnings");
      (*result)["not_checked"] = array_at(*checked, "not_checked");
    }
  }
  return answer(invocation, result, view);
}

void add_check(ToolCommand project, Invocation& invocation) {
  ToolCommand command = project.add_subcommand("check", "What the cards of a project will miss");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "The project's name").required();
  command.footer(
      "Examples:\n"
      "  signalbox project check web\n"
      "  signalbox project check web --json | jq -r '.result.warnings[].code'");
  command.action([name, &invocation] {
    return call_and_answer(invocation, "project.check", {{"name", *name}},
                           [](const json::object& result, const Terminal& terminal) {
                             const std::string text = warnings_text(result, terminal.connection);
                             return text.empty() ? std::string("nothing is missing\n")
                                                 : broken_message(text, terminal);
                           });
  });
}

void add_put(ToolCommand project, Invocation& invocation) {
  ToolCommand command = project.add_subcommand("put", "Add a project or change it");
  const auto options = std::make_shared<PutProjectOptions>();
  command.add_option("NAME", options->name, "The project's name").required();
  command.add_option("--repository", options->repository, "The root of its git repository")
      .required()
      .type_name("DIR");
  command.add_option("--base", options->base,
                     "The branch that cards start from and are merged into; default: main");
  command.add_option("--remote", options->remote,
                     "The remote that verified and merged work is pushed to; default: none");
  command
      .add_option("--pipeline", options->pipeline,
                  "Stations of a card's run; default: intake, implement, verify, create_pr")
      .type_name("FILE.toml|FILE.json");
  command.add_flag("--keep-pipeline", options->keep_pipeline,
                   "Keep the stations that the project has");
  command.excludes("--keep-pipeline", {"--pipeline"});
  add_command_id(command, options->command_id);
  command.footer(
      "HEARTBEAT.md in the repository holds the policy for its cards. What the cards\n"
      "will miss is said at once; with --json it is in `warnings`, as `project check`\n"
      "has it.\n\n"
      "Examples:\n"
      "  signalbox project put web --repository ~/src/web --remote origin\n"
      "  signalbox project put web --repository . --base trunk --pipeline card.toml");
  command.action([options, &invocation] { return put(invocation, *options); });
}

void add_project_get(ToolCommand project, Invocation& invocation) {
  ToolCommand command =
      project.add_subcommand("get", "A project, its policy, and errors in its policy file");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "The project's name").required();
  command.footer(
      "Examples:\n"
      "  signalbox project get web\n"
      "  signalbox project get web --json | jq '.result.project.policy'");
  command.action([name, &invocation] {
    return call_and_answer(invocation, "project.get", {{"name", *name}},
                           [](const json::object& result, const Terminal& terminal) {
                             return view_project(result, terminal, terminal.now_ns());
                           });
  });
}

void add_project_list(ToolCommand project, Invocation& invocation) {
  struct Options {
    std::optional<std::string> cursor;
    std::optional<std::uint32_t> limit;
  };
  ToolCommand command = project.add_subcommand("list", "Projects, by name");
  const auto options = std::make_shared<Options>();
  command.add_option("--limit", options->limit, "Projects per page, 1 to 500; default: 100");
  command.add_option("--cursor", options->cursor,
                     "Continue after the page that returned this cursor");
  command.footer(
      "Examples:\n"
      "  signalbox project list\n"
      "  signalbox project list --json");
  command.action([options, &invocation] {
    json::object params;
    set_param(params, "limit", options->limit);
    set_param(params, "cursor", options->cursor);
    return call_and_answer(invocation, "project.list", std::move(params), view_project_list);
  });
}

}  // namespace

void add_project_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand project =
      app.add_group("project", "Git repositories with cards to work on: put, check, get, list");
  project.footer(
      "Examples:\n"
      "  signalbox project put web --repository ~/src/web --remote origin\n"
      "  signalbox project list");
  add_put(project, invocation);
  add_check(project, invocation);
  add_project_get(project, invocation);
  add_project_list(project, invocation);
}

}  // namespace signalbox
