// `signalbox run export`: writes a run into a capsule, a file that contains its own proofs.
#include <memory>

#include "domain/try.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_options.h"
#include "tools/audit/run_capsule.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/past_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RunExportOptions {
  std::string run_id, file;
  bool artifacts = false;
  std::vector<std::string> signing_keys;
};

Called<json::object> export_run(const Invocation& invocation, const RunExportOptions& options) {
  const auto signers = TRY(read_signers(options.signing_keys));
  const auto whole = TRY(whole_run_id(invocation, options.run_id));
  const auto run_id = parse_uuid(whole);
  if (!run_id) return tl::unexpected(usage_error("not the id of a run: " + options.run_id));
  const auto written = TRY(write_capsule(
      {invocation.data_directory(), *run_id, options.file, options.artifacts, signers}));
  const auto list = [](const std::vector<std::string>& digests) {
    return json::array(digests.begin(), digests.end());
  };
  return json::object{{"file", options.file},
                      {"records", written.records},
                      {"artifacts", written.artifacts},
                      {"missing_artifacts", list(written.missing_artifacts)},
                      {"damaged_artifacts", list(written.damaged_artifacts)}};
}

}  // namespace

void add_run_export_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("export", "Write a run into a capsule: one file that proves itself");
  const auto options = std::make_shared<RunExportOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.add_option("-o,--output", options->file, "The capsule's file; replaced if it exists")
      .required()
      .type_name("FILE");
  command.add_flag("--artifacts", options->artifacts, "Include the content of its artifacts");
  add_signing_keys(command, options->signing_keys);
  command.footer(
      "Reads the log directly; the directory may be that of a running server. The\n"
      "capsule holds the run's records with a proof of each, and no other record's\n"
      "payload.\n\n"
      "Examples:\n"
      "  signalbox run export \"$run\" --signing-key audit.key -o run.capsule\n"
      "  signalbox replay run.capsule --key @audit.vkey");
  command.action([options, &invocation] {
    return answer(invocation, export_run(invocation, *options),
                  [](const json::object& result, const Terminal&) {
                    std::string text = text_at(result, "records") + " records and " +
                                       text_at(result, "artifacts") + " artifacts in " +
                                       text_at(result, "file") + "\n";
                    for (const json::value& each : array_at(result, "missing_artifacts")) {
                      text += "missing: artifact " + scalar_text(each) + "\n";
                    }
                    for (const json::value& each : array_at(result, "damaged_artifacts")) {
                      text += "damaged: artifact " + scalar_text(each) + "\n";
                    }
                    return text;
                  });
  });
}

}  // namespace signalbox
