// `signalbox audit export`: parses the options and prints the result of export_log().
#include <memory>

#include "domain/try.h"
#include "tools/audit/audit_export.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_options.h"
#include "tools/cli/call_error.h"
#include "tools/cli/invocation.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ExportOptions {
  std::optional<std::uint64_t> from, to;
  std::string format = "cloudevents";
  std::string directory;
  std::vector<std::string> signing_keys;
};

Called<json::object> run_export(const Invocation& invocation, const ExportOptions& options) {
  const auto signers = TRY(read_signers(options.signing_keys));
  ExportRequest request;
  request.data = invocation.data_directory();
  request.directory = options.directory;
  request.format = options.format == "tlog" ? ExportFormat::tlog : ExportFormat::cloudevents;
  request.from = options.from;
  request.to = options.to;
  request.signers = signers;
  request.same_log.clear();
  for (const std::string& file : options.signing_keys) {
    request.same_log +=
        (request.same_log.empty() ? "" : " ") + ("--signing-key " + for_the_shell(file));
  }
  if (!invocation.data.empty()) request.same_log += " --data " + for_the_shell(invocation.data);
  const auto exported = TRY(export_log(request));
  return json::object{{"directory", options.directory},
                      {"format", options.format},
                      {"origin", exported.manifest.origin},
                      {"from", exported.manifest.from},
                      {"to", exported.manifest.to},
                      {"records", exported.records},
                      {"root", to_hex(exported.manifest.root)}};
}

}  // namespace

void add_audit_export_command(ToolCommand audit, Invocation& invocation) {
  ToolCommand command =
      audit.add_subcommand("export", "Export records of the log so that others can check them");
  const auto options = std::make_shared<ExportOptions>();
  command
      .add_option("--from", options->from,
                  "The first record; default: the first there is, or where DIR ends")
      .type_name("POSITION");
  command.add_option("--to", options->to, "The last record; default: the log's end")
      .type_name("POSITION");
  command.add_option("--format", options->format, "cloudevents (one a line) or tlog (tiles)")
      .one_of({"cloudevents", "tlog"})
      .shows_default();
  command.add_option("-o,--output", options->directory, "A new directory, or an export to continue")
      .required()
      .type_name("DIR");
  add_signing_keys(command, options->signing_keys);
  command.footer(
      "Reads only; the directory of the log may be that of a running server. Repeat an\n"
      "interrupted export to complete it; an export of the same log continues where it\n"
      "ends.\n\n"
      "Examples:\n"
      "  signalbox audit export --signing-key audit.key -o ./export\n"
      "  signalbox audit export --format tlog --signing-key audit.key -o ./tiles");
  command.action([options, &invocation] {
    return answer(invocation, run_export(invocation, *options),
                  [](const json::object& result, const Terminal&) {
                    return text_at(result, "records") + " records written; " +
                           text_at(result, "directory") + " has " + text_at(result, "from") +
                           " to " + text_at(result, "to") + "\n";
                  });
  });
}

}  // namespace signalbox
