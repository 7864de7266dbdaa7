// `signalbox fence …`: the pre-push hook that refuses a push from the worktree of a run, or of an
// attempt, that has ended.
#include <memory>
#include <system_error>

#include "domain/try.h"
#include "server/git/fence_hook.h"
#include "server/git/fence_marker.h"
#include "server/git/git_command.h"
#include "server/platform/environment_variable.h"
#include "tools/cli/client.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

Called<json::object> to_result(const FenceHookOutcome& outcome, bool installed) {
  if (!outcome) {
    return tl::unexpected(outcome.error().is_usage
                              ? usage_error(outcome.error().message, outcome.error().next_commands)
                              : io_error(outcome.error().message));
  }
  json::object result;
  result["hook"] = outcome->hook.string();
  result["installed"] = installed;
  result["changed"] = outcome->changed;
  result["runs_after"] =
      outcome->chained.empty() ? json::value(nullptr) : json::value(outcome->chained.string());
  return result;
}

std::string view_install(const json::object& result, const Terminal&) {
  const std::string before = text_at(result, "runs_after");
  return (true_at(result, "changed") ? "installed " : "already installed: ") +
         text_at(result, "hook") + "\n" + (before.empty() ? "" : "it then runs " + before + "\n");
}

std::string view_uninstall(const json::object& result, const Terminal&) {
  return (true_at(result, "changed") ? "removed from " : "no hook of Signalbox at ") +
         text_at(result, "hook") + "\n";
}

std::string view_fence(const json::object& result, const Terminal&) {
  if (!true_at(result, "fenced")) return "not the worktree of a run: nothing to check\n";
  return "run " + text_at(result, "run_id") + " is in progress: the push is allowed\n";
}

// Returns the worktree's own git directory: GIT_DIR in a hook, else from `git rev-parse`.
fs::path git_directory() {
  std::error_code error;
  if (const std::string from_git = environment_variable("GIT_DIR"); !from_git.empty()) {
    return fs::absolute(from_git, error);
  }
  return git(fs::current_path(error), {"rev-parse", "--absolute-git-dir"}).line();
}

CallError push_refused(CallError why) {
  why.error["message"] = "the push is refused: " + text_at(why.error, "message");
  return why;
}

// Makes the params of run.fence, which identify the attempt as far as the environment names it.
// Both the span and the token must be the current attempt's. SIGNALBOX_TOKEN may be the token of a
// lock, which SIGNALBOX_LOCK_KEY shows.
Called<json::object> fence_params(const FenceMarker& marker) {
  json::object params{{"run_id", marker.run_id}, {"token", marker.token}};
  const std::string run_id = environment_variable("SIGNALBOX_RUN_ID");
  if (!run_id.empty() && run_id != marker.run_id) {
    return tl::unexpected(from_rejection({ErrorCode::STALE_TOKEN,
                                          "this worktree belongs to run " + marker.run_id +
                                              ", but the push comes from run " + run_id,
                                          {{"run_id", marker.run_id}, {"pushed_by", run_id}},
                                          {"signalbox run get " + marker.run_id}}));
  }
  if (const std::string span = environment_variable("SIGNALBOX_SPAN_ID"); !span.empty()) {
    params["span_id"] = span;
  }
  if (const std::string token = environment_variable("SIGNALBOX_TOKEN");
      !token.empty() && environment_variable("SIGNALBOX_LOCK_KEY").empty()) {
    params["attempt_token"] = token;
  }
  return params;
}

// Asks the endpoints in their order until one answers for the present. One that stands by in a cell
// answers for a moment before, when the run may still have gone on.
Called<json::object> ask_active(ServerAddress address, const json::object& params) {
  constexpr std::chrono::milliseconds patience{limits::fence_check_ms_max};
  std::string as_of;
  for (std::size_t left = address.endpoints.size(); left > 0; --left) {
    auto client = TRY(Client::connect(address, patience));
    auto answer = client.call("run.fence", params);
    if (!answer || !answer->contains("as_of")) return answer;
    as_of = text_at(*answer, "as_of");
    address = address.after(client.endpoint());
  }
  return tl::unexpected(from_rejection(
      {ErrorCode::NOT_ACTIVE,
       "the server at " + address.text() + " stands by, and knows only how it was at " + as_of +
           "; name the one that takes commands in SIGNALBOX_SERVER, and push again",
       {{"as_of", as_of}},
       {"signalbox cell status"}}));
}

// Asks the server that the invocation names, else the one that made the worktree, else the one that
// SIGNALBOX_SERVER names.
Called<json::object> ask_server(const Invocation& invocation, const FenceMarker& marker,
                                const json::object& params) {
  Invocation target = invocation;
  const bool is_named = !target.socket.empty() || !target.server.empty() || !target.data.empty();
  if (!is_named) target.socket = marker.socket;
  auto answer = ask_active(TRY(target.server_address()), params);
  const bool has_other = !is_named && !environment_variable("SIGNALBOX_SERVER").empty();
  if (answer || !has_other || code_of(answer.error()) != "NOT_ACTIVE") return answer;
  return ask_active(TRY(invocation.server_address()), params);
}

Called<json::object> check(const Invocation& invocation) {
  const fs::path directory = git_directory();
  if (directory.empty()) return json::object{{"fenced", false}};
  const auto marker = read_fence_marker(directory);
  if (!marker && marker.error().kind == StoreError::Kind::not_found) {
    return json::object{{"fenced", false}};
  }
  if (!marker) return tl::unexpected(push_refused(from_store_error(marker.error())));
  auto params = fence_params(*marker);
  if (!params) return tl::unexpected(push_refused(params.error()));
  auto result = ask_server(invocation, *marker, *params);
  if (!result) return tl::unexpected(push_refused(result.error()));
  (*result)["fenced"] = true;
  return result;
}

void add_install(ToolCommand fence, Invocation& invocation) {
  struct Options {
    std::string repository = ".";
    bool force = false;
  };
  ToolCommand command =
      fence.add_subcommand("install", "Install the pre-push hook in a repository");
  const auto options = std::make_shared<Options>();
  command.add_option("REPOSITORY", options->repository,
                     "The repository's path; default: the current directory");
  command.add_flag("--force", options->force,
                   "Install beside an existing pre-push hook, which then runs after ours");
  command.footer(
      "The hook only checks pushes from the worktree of a run.\n\n"
      "Examples:\n"
      "  signalbox fence install ~/src/web\n"
      "  signalbox fence install --force");
  command.action([options, &invocation] {
    std::error_code error;
    const fs::path binary = fs::read_symlink("/proc/self/exe", error);
    const fs::path repository = fs::weakly_canonical(options->repository, error);
    return answer(invocation,
                  to_result(install_fence_hook(repository, binary, options->force), true),
                  view_install);
  });
}

void add_uninstall(ToolCommand fence, Invocation& invocation) {
  ToolCommand command =
      fence.add_subcommand("uninstall", "Remove the hook and restore the previous one");
  const auto repository = std::make_shared<std::string>(".");
  command.add_option("REPOSITORY", *repository,
                     "The repository's path; default: the current directory");
  command.footer(
      "Examples:\n"
      "  signalbox fence uninstall ~/src/web");
  command.action([repository, &invocation] {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(*repository, error);
    return answer(invocation, to_result(uninstall_fence_hook(path), false), view_uninstall);
  });
}

void add_fence_check(ToolCommand fence, Invocation& invocation) {
  ToolCommand command = fence.add_subcommand(
      "check", "Check whether the current worktree may push, as the hook does");
  command.footer(
      "Exit codes: 0 the push is allowed, or this isn't the worktree of a run; 1 it is\n"
      "refused; 69 the server can't be reached, and 75 it stands by in a cell, which\n"
      "the hook treats as a refusal.\n"
      "SIGNALBOX_SPAN_ID and SIGNALBOX_TOKEN name the attempt, as in a job's\n"
      "environment; each that is set must be the current one.\n\n"
      "Examples:\n"
      "  signalbox fence check && git push origin HEAD");
  command.action([&invocation] { return answer(invocation, check(invocation), view_fence); });
}

}  // namespace

void add_fence_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand fence =
      app.add_group("fence", "Keep stale workers from pushing: install, uninstall, check");
  add_install(fence, invocation);
  add_uninstall(fence, invocation);
  add_fence_check(fence, invocation);
}

}  // namespace signalbox
