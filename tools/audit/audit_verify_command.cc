// `signalbox audit verify`: verifies an export, or a proof or a run's capsule in a file.
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "domain/try.h"
#include "server/text/time_text.h"
#include "store/durable_file.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_options.h"
#include "tools/audit/audit_verify.h"
#include "tools/audit/export_directory.h"
#include "tools/audit/run_capsule.h"
#include "tools/audit/tlog_proof.h"
#include "tools/cli/invocation.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct VerifyOptions {
  std::vector<std::string> paths;
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

json::object describe(const Verified& verified) {
  const ExportManifest& manifest = verified.manifest;
  json::object result{{"format", std::string(name_of(manifest.format))},
                      {"origin", manifest.origin},
                      {"from", manifest.from},
                      {"to", manifest.to},
                      {"records", manifest.to + 1 - manifest.from},
                      {"root", to_hex(manifest.root)}};
  if (!manifest.redacted_here.empty()) {
    result["redacted_here"] =
        json::array(manifest.redacted_here.begin(), manifest.redacted_here.end());
  }
  if (verified.old_head) result["consistent_with"] = verified.old_head->size;
  result["adopted_keys"] = json::array(verified.adopted_keys.begin(), verified.adopted_keys.end());
  return result;
}

// An export of a chain, once it was verified by itself.
struct VerifiedPart {
  std::string path;
  Verified verified;
};

using LatestEvents = std::map<Position, RedactionLedger::Told>;

// Returns the latest event about each redacted record that any of the exports has.
LatestEvents latest_events(const std::vector<VerifiedPart>& parts) {
  LatestEvents latest;
  for (const VerifiedPart& part : parts) {
    for (const auto& [position, told] : part.verified.redactions.latest_events()) {
      const auto known = latest.emplace(position, told).first;
      if (known->second.position < told.position) known->second = told;
    }
  }
  return latest;
}

// Returns whether `part` has a text of the record that was erased from the log by the event, which
// another export has: it is a copy from before, which its signatures can't tell from the one that
// is in its place since. Of a record that was redacted in the export itself, its manifest says
// that, and nothing tells more.
bool has_erased_text(const VerifiedPart& part, Position position, const RedactionLedger::Told& told,
                     const std::vector<VerifiedPart>& parts) {
  const ExportManifest& manifest = part.verified.manifest;
  if (manifest.from <= told.position && told.position <= manifest.to) return false;
  const auto found = part.verified.redactions.redacted_at(position);
  if (!found) return true;
  if (*found == told.digests) return false;
  const auto& here = manifest.redacted_here;
  const bool is_of_log = std::any_of(parts.begin(), parts.end(), [&](const VerifiedPart& each) {
    return each.verified.redactions.is_told(position, *found);
  });
  return is_of_log || !std::binary_search(here.begin(), here.end(), position);
}

Called<void> require_erased(const std::vector<VerifiedPart>& parts) {
  AuditFindings findings;
  const LatestEvents latest = latest_events(parts);
  for (const VerifiedPart& part : parts) {
    for (const ExportSegment& segment : part.verified.manifest.segments) {
      const auto end = latest.upper_bound(segment.last);
      for (auto each = latest.lower_bound(segment.first); each != end; ++each) {
        const auto& [position, told] = *each;
        if (!has_erased_text(part, position, told, parts)) continue;
        findings.add({(std::filesystem::path(part.path) / segment.lines_name()).string(),
                      position + 1 - segment.first, position,
                      "a text of it was erased from the log, as record " +
                          std::to_string(told.position) +
                          " says, and is still here: put the archive back from which it was "
                          "erased, too, or erase it (signalbox audit redact " +
                          std::to_string(position) + " --archive " + for_the_shell(part.path) +
                          " --signing-key FILE)"});
      }
    }
  }
  if (!findings.empty()) return tl::unexpected(findings.error());
  return {};
}

Called<json::object> verify_one(const std::string& path, const VerifyOptions& options,
                                const std::vector<NoteVerifier>& trusted) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(path, failed)) {
    if (options.old_checkpoint) {
      return tl::unexpected(usage_error("--old-checkpoint is for exports"));
    }
    if (is_capsule(path)) return verify_capsule_file(path, trusted);
    return verify_proof_file(path, trusted);
  }
  VerifyRequest request{path, trusted, {}};
  if (options.old_checkpoint) request.old_checkpoint = *options.old_checkpoint;
  return describe(TRY(verify_export(request)));
}

// Verifies exports of one log, such as the archives of a retention, in the order of their records:
// each one continues the one before, no record is missing in between, and none has a text that
// another one says was erased.
Called<json::object> verify_chain(const VerifyOptions& options,
                                  const std::vector<NoteVerifier>& trusted) {
  std::multimap<std::pair<Position, Position>, std::string> by_range;
  for (const std::string& path : options.paths) {
    const auto notes = read_export_notes(path, trusted);
    if (!notes) {
      AuditFindings findings;
      findings.add(
          {notes.error().file.empty() ? path : notes.error().file, 0, 0, notes.error().message});
      return tl::unexpected(findings.error());
    }
    by_range.emplace(std::pair(notes->manifest.from, notes->manifest.to), path);
  }
  std::vector<VerifiedPart> parts;
  std::optional<std::filesystem::path> old_checkpoint;
  if (options.old_checkpoint) old_checkpoint = *options.old_checkpoint;
  Position next = by_range.begin()->first.first;
  for (const auto& [range, path] : by_range) {
    const Position from = range.first;
    if (from > next) {
      AuditFindings findings;
      findings.add({path, 0, next,
                    "it begins at " + std::to_string(from) + ": the records from " +
                        std::to_string(next) + " on are in none of these exports"});
      return tl::unexpected(findings.error());
    }
    Verified verified = TRY(verify_export({path, trusted, old_checkpoint}));
    next = std::max<Position>(next, verified.manifest.to + 1);
    parts.push_back({path, std::move(verified)});
    old_checkpoint = std::filesystem::path(path) / checkpoint_name;
  }
  TRY(require_erased(parts));
  json::array exports;
  for (const VerifiedPart& part : parts) {
    json::object verified = describe(part.verified);
    verified["path"] = part.path;
    exports.emplace_back(std::move(verified));
  }
  return json::object{{"exports", std::move(exports)}};
}

Called<json::object> run_verify(const VerifyOptions& options) {
  const auto trusted = TRY(read_verifiers(options.keys));
  if (options.paths.size() > 1) return verify_chain(options, trusted);
  return verify_one(options.paths.front(), options, trusted);
}

std::string verified_text(const json::object& result) {
  if (result.contains("exports")) {
    std::string text;
    for (const json::value& each : array_at(result, "exports")) {
      text += verified_text(each.get_object());
    }
    return text;
  }
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
  for (const json::value& position : array_at(result, "redacted_here")) {
    text += "record " + scalar_text(position) +
            ": texts of it were erased, which no event of this export tells of\n";
  }
  for (const json::value& key : array_at(result, "adopted_keys")) {
    text += "adopted key: " + scalar_text(key) + "\n";
  }
  return text;
}

std::string view_verified(const json::object& result, const Terminal& terminal) {
  return broken_message(verified_text(result), terminal);
}

}  // namespace

void add_audit_verify_command(ToolCommand audit, Invocation& invocation) {
  ToolCommand command =
      audit.add_subcommand("verify", "Check an export or a proof against the log's key");
  const auto options = std::make_shared<VerifyOptions>();
  command
      .add_option("PATH", options->paths,
                  "An export's directory, or the file of a proof or a capsule; several exports "
                  "of one log have to continue each other, and none may have a text that another "
                  "says was erased")
      .required()
      .several();
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
      "  signalbox audit verify 42.tlog-proof --key @audit.vkey\n"
      "  signalbox audit verify archive/*-* --key @audit.vkey");
  command.action(
      [options, &invocation] { return answer(invocation, run_verify(*options), view_verified); });
}

}  // namespace signalbox
