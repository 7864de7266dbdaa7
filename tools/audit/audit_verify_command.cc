// `signalbox audit verify`: verifies an export, or a proof or a run's capsule in a file.
#include <fstream>
#include <memory>

#include "domain/try.h"
#include "server/text/time_text.h"
#include "store/durable_file.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_options.h"
#include "tools/audit/audit_verify.h"
#include "tools/audit/run_capsule.h"
#include "tools/audit/tlog_proof.h"
#include "tools/cli/invocation.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct VerifyOptions {
  std::string path;
  std::vector<std::string> keys;
  std::optional<std::string> old_checkpoint;
};

Called<json::object> verify_proof_file(const std::string& path,
                                       const std::vector<NoteVerifier>& trusted) {
  const auto text = signalbox::read_file(path, proof_bytes_max);
  if (!text && text.error().kind != StoreError::Kind::damaged) {
    return tl::unexpected(from_store_error(text.error()));
  }
  if (!text || !text->starts_with(proof_title)) {
    return tl::unexpected(
        usage_error(path + " is neither an export's directory, a proof nor a capsule"));
  }
  const auto proven = check_proof(*text, trusted);
  if (!proven) {
    AuditFindings findings;
    findings.add({path, 0, 0, proven.error().message});
    return tl::unexpected(findings.error());
  }
  const Record& record = proven->record;
  json::object result{{"origin", proven->head.origin},
                      {"size", proven->head.size},
                      {"position", record.position},
                      {"stream", to_string(record.stream)},
                      {"type", std::string(proven->tag.name)},
                      {"recorded_at", format_time(record.recorded_at_ns)},
                      {"actor", record.actor}};
  if (!record.span_id.is_nil()) result["span_id"] = to_string(record.span_id);
  return result;
}

bool is_capsule(const std::string& path) {
  std::string beginning(capsule_beginning.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return beginning == capsule_beginning;
}

Called<json::object> verify_capsule_file(const std::string& path,
                                         const std::vector<NoteVerifier>& trusted) {
  const auto capsule = TRY(read_capsule(path, trusted, {}));
  return json::object{{"origin", capsule.head.origin},
                      {"size", capsule.head.size},
                      {"run_id", to_string(capsule.run_id)},
                      {"records", capsule.records.size()},
                      {"artifacts", capsule.artifacts}};
}

Called<json::object> run_verify(const VerifyOptions& options) {
  const auto trusted = TRY(read_verifiers(options.keys));
  std::error_code failed;
  if (std::filesystem::is_regular_file(options.path, failed)) {
    if (options.old_checkpoint) {
      return tl::unexpected(usage_error("--old-checkpoint is for exports"));
    }
    if (is_capsule(options.path)) return verify_capsule_file(options.path, trusted);
    return verify_proof_file(options.path, trusted);
  }
  VerifyRequest request{options.path, trusted, {}};
  if (options.old_checkpoint) request.old_checkpoint = *options.old_checkpoint;
  const auto verified = TRY(verify_export(request));
  const ExportManifest& manifest = verified.manifest;
  json::object result{{"format", std::string(name_of(manifest.format))},
                      {"origin", manifest.origin},
                      {"from", manifest.from},
                      {"to", manifest.to},
                      {"records", manifest.to + 1 - manifest.from},
                      {"root", to_hex(manifest.root)}};
  if (verified.old_head) result["consistent_with"] = verified.old_head->size;
  result["adopted_keys"] = json::array(verified.adopted_keys.begin(), verified.adopted_keys.end());
  return result;
}

std::string view_verified(const json::object& result, const Terminal&) {
  if (result.contains("position")) {
    return "verified: " + text_at(result, "origin") + " has at " + text_at(result, "position") +
           " of " + text_at(result, "size") + " records " + text_at(result, "type") + " of " +
           text_at(result, "stream") + ", by " + text_at(result, "actor") + " at " +
           text_at(result, "recorded_at") + "\n";
  }
  if (result.contains("run_id")) {
    return "verified: run " + text_at(result, "run_id") + " of " + text_at(result, "origin") +
           ", " + text_at(result, "records") + " records\n";
  }
  std::string text = "verified: " + text_at(result, "records") + " records of " +
                     text_at(result, "origin") + ", " + text_at(result, "from") + " to " +
                     text_at(result, "to") + "\n";
  if (result.contains("consistent_with")) {
    text +=
        "the first " + text_at(result, "consistent_with") + " are those of the older checkpoint\n";
  }
  for (const json::value& key : array_at(result, "adopted_keys")) {
    text += "adopted key: " + scalar_text(key) + "\n";
  }
  return text;
}

}  // namespace

void add_audit_verify_command(ToolCommand audit, Invocation& invocation) {
  ToolCommand command =
      audit.add_subcommand("verify", "Check an export or a proof against the log's key");
  const auto options = std::make_shared<VerifyOptions>();
  command
      .add_option("PATH", options->path,
                  "An export's directory, or the file of a proof or a capsule")
      .required();
  add_trusted_keys(command, options->keys);
  command
      .add_option("--old-checkpoint", options->old_checkpoint,
                  "Check as well that the log continues from this checkpoint")
      .type_name("FILE");
  command.footer(
      "Exits with 0 if everything is as it was signed, 1 if not (and reports what and\n"
      "where), 2 if it can't be checked. `tools/verify_export` does the same and shares\n"
      "no code.\n\n"
      "Examples:\n"
      "  signalbox audit verify ./export --key @audit.vkey \\\n"
      "    --old-checkpoint monday.checkpoint\n"
      "  signalbox audit verify 42.tlog-proof --key @audit.vkey");
  command.action(
      [options, &invocation] { return answer(invocation, run_verify(*options), view_verified); });
}

}  // namespace signalbox
