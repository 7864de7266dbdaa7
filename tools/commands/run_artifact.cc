// `signalbox run artifact`: prints an artifact of a run.
#include <memory>
#include <string>

#include <unistd.h>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ArtifactOptions {
  std::string run_id;
  std::string name;
};

// Returns where the content is: a path or a URL; of a member of a bundle with the file in that.
std::string location_of(const json::object& found) {
  const json::object bundle = object_at(found, "bundle");
  return text_at(found, "path") +
         (bundle.empty() ? "" : ", in it as sha256/" + text_at(found, "sha256"));
}

ExitCode artifact(const Invocation& invocation, const ArtifactOptions& options) {
  auto result =
      call_server(invocation, "run.artifact", {{"run_id", options.run_id}, {"name", options.name}});
  if (result && !invocation.json && !result->contains("content")) {
    // Large or binary content is only in the file, whose path is printed.
    const bool is_object = text_at(*result, "path").starts_with("s3://");
    write_message("not shown: " + text_at(*result, "bytes") + " bytes of " +
                  printable(text_at(*result, "media_type")) +
                  (is_object ? ", in the store of artifacts; the console and HTTP deliver it\n"
                             : ", in the file on the server's machine\n"));
  }
  const bool is_for_program = !invocation.json && !terminal_of(STDOUT_FILENO).columns;
  if (result && is_for_program && result->contains("content")) {
    write_out(text_at(*result, "content"));  // unchanged, as `git apply` needs it
    return ExitCode::ok;
  }
  return answer(invocation, result, [](const json::object& found, const Terminal&) {
    return found.contains("content") ? text_at(found, "content") : location_of(found) + "\n";
  });
}

}  // namespace

void add_run_artifact_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand("artifact", "Print an artifact of a run");
  const auto options = std::make_shared<ArtifactOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.add_option("NAME", options->name, "The artifact's name, as `run get` lists it")
      .required();
  command.footer(
      "Of what isn't text or is larger than 256 KiB it prints the path of the file,\n"
      "which is on the server's machine, or its URL in a store of objects; of one that\n"
      "is in a tar there, also its name in that. `run diff` prints a run's change\n"
      "whole, for `git apply`.\n\n"
      "Examples:\n"
      "  signalbox run artifact \"$run\" change.patch | less\n"
      "  signalbox run artifact \"$run\" verify_summary");
  command.action([options, &invocation] { return artifact(invocation, *options); });
}

}  // namespace signalbox
