// `signalbox audit redact`: erases a text that should never have been recorded, and records that in
// the log. A running server does it itself (`log.redact`); this command then searches for what is
// left elsewhere.
//
// Without a server, the order of its steps makes it safe against a crash. First the projections are
// removed, which could keep the text; they are rebuilt from the log. Then a single batch writes the
// new payload and the event that records it, so that neither exists without the other. Old bytes
// that the batch leaves in files are erased afterwards; if this process crashes before, the next
// process that opens the log erases them.
#include <memory>
#include <utility>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/cell/cell_mark.h"
#include "server/text/utf8_text.h"
#include "store/durable_file.h"
#include "tools/audit/archive_redaction.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_log.h"
#include "tools/audit/audit_options.h"
#include "tools/audit/erased_text_search.h"
#include "tools/audit/redaction_plan.h"
#include "tools/audit/redaction_proof.h"
#include "tools/audit/redaction_view.h"
#include "tools/audit/remaining_file.h"
#include "tools/audit/runs_of_files.h"
#include "tools/audit/service_redaction.h"
#include "tools/cli/call_error.h"
#include "tools/cli/client.h"
#include "tools/cli/invocation.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RedactOptions {
  std::uint64_t position = 0;
  std::string reason;
  std::vector<std::string> fields;
  bool dry_run = false;
  std::string archive;  // redact there instead of in the log; or empty
  std::vector<std::string> signing_keys;
  std::vector<std::string> keys;  // verifier keys that are trusted, too
  std::string data;               // --data as it was given, or empty
};

constexpr const char* elsewhere_note =
    "the service's own log has reasons and messages, too (journalctl -u signalbox); exports, "
    "capsules, backups and copies that were made before aren't reached from here, nor are "
    "repositories and run roots outside the data directory, nor what was sent to a collector of "
    "traces";

std::string field_options(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) text += " --field " + for_the_shell(field);
  return text;
}

std::string redact_command(Position position, const RedactOptions& options) {
  const std::string reason =
      options.archive.empty() ? options.reason : "erased from " + options.archive + ", too";
  return "signalbox audit redact " + std::to_string(position) + " --reason " +
         for_the_shell(reason) +
         (options.data.empty() ? "" : " --data " + for_the_shell(options.data));
}

// Returns the command that was given, for the suggested commands of an error.
std::string same_command(const RedactOptions& options) {
  return redact_command(options.position, options) + field_options(options.fields);
}

// Opens the log for writing, which locks the directory against other processes until it is closed.
Called<std::unique_ptr<RocksEventLog>> open_to_redact(const std::filesystem::path& data,
                                                      const RedactOptions& options) {
  std::error_code failed;
  if (!std::filesystem::exists(data / "log" / "CURRENT", failed)) {
    return tl::unexpected(usage_error("there is no log in " + data.string()));
  }
  TRY(called(require_replica_of(data, "")));
  auto log = RocksEventLog::open(data, {.command = "signalbox audit redact"});
  if (log) return std::move(*log);
  CallError error = from_store_error(log.error());
  if (log.error().kind == StoreError::Kind::in_use) {
    error.error["message"] =
        log.error().message +
        ": a record is redacted by the server, over its socket, or while nobody has the log";
    error.error.at("data").at("next_commands").as_array().emplace_back(same_command(options));
  }
  return tl::unexpected(std::move(error));
}

// Removes snapshots and read models, which contain the text, too. They are rebuilt from the log.
Called<void> remove_projections(const std::filesystem::path& data) {
  std::error_code failed;
  std::filesystem::remove_all(data / "projections", failed);
  if (failed) {
    return tl::unexpected(
        io_error("can't remove " + (data / "projections").string() + ": " + failed.message()));
  }
  TRY(called(sync_directory(data)));
  return {};
}

Called<void> apply_redaction(RocksEventLog& log, const std::filesystem::path& data,
                             const RedactionPlan& plan, const RedactOptions& options) {
  TRY(remove_projections(data));
  if (!plan.base.empty()) {
    // First the base: a crash before the record is redacted leaves its texts only in the record.
    const Horizon horizon = log.horizon();
    const auto renewal = TRY(called(renewal_note(log, plan.base)));
    const auto renewed =
        log.drop(log.tail(), {renewal}, {horizon.position, horizon.kept, plan.base});
    if (!renewed) return tl::unexpected(from_store_error(renewed.error()));
  }
  Redaction redaction;
  redaction.position = plan.record.position;
  redaction.replacement = plan.replacement;
  redaction.note = redaction_note(plan, log.tail() + 1, options.reason);
  const auto appended = TRY(called(log.redact(log.tail(), redaction)));
  if (appended.status != AppendStatus::ok) return tl::unexpected(io_error(appended.message));
  TRY(called(log.erase_replaced()));
  return {};
}

json::object describe_place(const RemainingPlace& place, const std::filesystem::path& data,
                            const JobsOfRuns& jobs, const RedactOptions& options) {
  if (place.is_unsearched) {
    return {{"file", place.file.string()},
            {"stays",
             "it couldn't be searched: it can't be read, or its path is too long; see what is "
             "there, and search it again"},
            {"commands", json::array()}};
  }
  if (place.position == 0) return describe_remaining_file(place.file, data, jobs);
  json::array commands;
  json::object object;
  object["position"] = place.position;
  if (!place.file.empty()) {
    object["file"] = place.file.string();
    commands.emplace_back("signalbox audit redact " + std::to_string(place.position) +
                          " --archive " + for_the_shell(options.archive) + " --signing-key " +
                          for_the_shell(options.signing_keys.front()));
  } else {
    object["fields"] = json::array(place.fields.begin(), place.fields.end());
    // The other texts of the record stay. To erase them, too, would lead to every record that has
    // something in common with them.
    if (!place.fields.empty()) {
      commands.emplace_back(redact_command(place.position, options) + field_options(place.fields));
    }
  }
  object["commands"] = std::move(commands);
  return object;
}

// Says where else something of the erased texts is.
void describe_remaining(const std::vector<std::string>& pieces, const RemainingPlaces& remaining,
                        const std::filesystem::path& data, const JobsOfRuns& jobs,
                        const RedactOptions& options, json::object& result) {
  json::array places;
  for (const RemainingPlace& each : remaining.kept) {
    places.push_back(describe_place(each, data, jobs, options));
  }
  result["searched"] = !pieces.empty();
  result["remaining"] = std::move(places);
  result["remaining_total"] = remaining.total;
  result["elsewhere"] = elsewhere_note;
}

// Searches for what was erased from an archive: in its other records, and in the data directory
// if that has a log.
Called<void> add_remaining_of_archive(const std::filesystem::path& data,
                                      const std::vector<FoundText>& erased,
                                      const RedactOptions& options, json::object& result) {
  const auto pieces = search_pieces(erased);
  RemainingPlaces remaining = search_archive(options.archive, pieces);
  JobsOfRuns jobs;
  std::error_code unknown;
  if (std::filesystem::exists(data / "log" / "CURRENT", unknown)) {
    const auto log = TRY(called(RocksEventLog::open(data, {.read_only = true})));
    RemainingPlaces found = TRY(search_erased(data, *log, pieces));
    remaining.total += found.total - found.kept.size();
    for (RemainingPlace& each : found.kept) {
      const bool is_listed =
          std::filesystem::equivalent(each.file.parent_path(), options.archive, unknown);
      if (!is_listed) remaining.add(std::move(each));
    }
    jobs = TRY(jobs_of_runs(*log, remaining.kept, data));
  }
  describe_remaining(pieces, remaining, data, jobs, options, result);
  return {};
}

Called<json::object> run_redact_archive(const Invocation& invocation,
                                        const RedactOptions& options) {
  if (!options.reason.empty()) {
    return tl::unexpected(
        usage_error("an archive keeps no reason: --archive goes without --reason"));
  }
  const auto signers = TRY(read_signers(options.signing_keys));
  const auto trusted = TRY(read_verifiers(options.keys));
  const auto done = TRY(redact_in_archive(
      {options.archive, options.position, options.fields, signers, trusted, options.dry_run}));
  json::object result{{"position", options.position},
                      {"type", done.type},
                      {"archive", options.archive},
                      {"fields", json::array(done.fields.begin(), done.fields.end())},
                      {"dry_run", options.dry_run},
                      {"redacted", !options.dry_run && !done.fields.empty()}};
  if (true_at(result, "redacted")) {
    TRY(add_remaining_of_archive(invocation.data_directory(), done.erased, options, result));
  }
  return result;
}

// Names the archive that has a record, too, which was kept before the horizon.
void add_archive(json::object& result, const RedactionPlan& plan) {
  if (plan.archive.empty()) return;
  result["archives"] = json::array{json::object{{"archive", plan.archive.string()},
                                                {"commands", json::array{plan.archive_command}}}};
}

// Has the server redact the record, and adds its answer to `result`.
Called<void> redact_in_service(const ServerAddress& service, const RedactOptions& options,
                               json::object& result) {
  auto client = TRY(Client::connect(service));
  json::object params{{"position", options.position}, {"reason", options.reason}};
  if (!options.fields.empty()) {
    params["fields"] = json::array(options.fields.begin(), options.fields.end());
  }
  const auto answered = TRY(client.call("log.redact", std::move(params)));
  result["redacted"] = true_at(answered, "redacted");
  for (const char* key :
       {"redaction_position", "files_error", "unerased_servers", "shared_log_error"}) {
    if (const json::value* value = answered.if_contains(key)) result[key] = *value;
  }
  return {};
}

// Redacts the record with nobody else at the log, and adds where that is recorded to `result`.
Called<void> redact_in_log(const std::filesystem::path& data, const RedactionPlan& plan,
                           const RedactOptions& options, RedactionProof proof,
                           json::object& result) {
  Position proved_tail = 0;
  if (!plan.fields.empty()) proved_tail = TRY(std::move(proof).prove());
  const auto log = TRY(open_to_redact(data, options));
  if (plan.fields.empty()) {
    result["redaction_position"] = plan.redacted_at;
    return {};
  }
  if (log->tail() != proved_tail) {
    return tl::unexpected(
        redaction_refused("LOG_MOVED", "a server wrote to the log meanwhile; nothing was changed",
                          {{"tail", log->tail()}}, {same_command(options)}));
  }
  TRY(apply_redaction(*log, data, plan, options));
  result["redaction_position"] = log->tail();
  return {};
}

Called<void> add_remaining(const std::filesystem::path& data, const RedactionPlan& plan,
                           const RedactOptions& options, json::object& result) {
  const auto pieces = search_pieces(plan.erased);
  const auto log = TRY(called(RocksEventLog::open(data, {.read_only = true})));
  const auto remaining = TRY(search_erased(data, *log, pieces));
  const auto jobs = TRY(jobs_of_runs(*log, remaining.kept, data));
  describe_remaining(pieces, remaining, data, jobs, options, result);
  return {};
}

Called<json::object> run_redact(const Invocation& invocation, const RedactOptions& options) {
  if (options.reason.empty()) {
    return tl::unexpected(
        usage_error("--reason is required: the log keeps it", {"signalbox audit redact --help"}));
  }
  if (options.reason.size() > limits::reason_bytes_max) {
    return tl::unexpected(usage_error("--reason has " + std::to_string(options.reason.size()) +
                                      " bytes; at most " +
                                      std::to_string(limits::reason_bytes_max) + " are taken"));
  }
  if (!is_utf8(options.reason)) return tl::unexpected(usage_error("--reason must be UTF-8"));
  const std::filesystem::path data = invocation.data_directory();
  auto proof = TRY(RedactionProof::start({data, options.position, options.fields, options.reason}));
  RedactionPlan plan;
  {
    // Read-only, which also works beside a running server.
    const auto log = TRY(called(RocksEventLog::open(data, {.read_only = true})));
    plan = TRY(plan_redaction(*log, data, options.position, options.fields));
  }
  json::object result{{"position", options.position},
                      {"type", tag_of(plan.record.event).name},
                      {"fields", json::array(plan.fields.begin(), plan.fields.end())},
                      {"dry_run", options.dry_run},
                      {"redacted", !options.dry_run && !plan.fields.empty()}};
  add_archive(result, plan);
  if (options.dry_run) {
    if (!plan.fields.empty()) TRY(std::move(proof).prove());
    return result;
  }
  if (const auto service = TRY(service_of(invocation))) {
    TRY(redact_in_service(*service, options, result));
  } else {
    TRY(redact_in_log(data, plan, options, std::move(proof), result));
  }
  if (!plan.fields.empty()) TRY(add_remaining(data, plan, options, result));
  return result;
}

}  // namespace

void add_audit_redact_command(ToolCommand audit, Invocation& invocation) {
  ToolCommand command = audit.add_subcommand("redact", "Erase free text from a record permanently");
  const auto options = std::make_shared<RedactOptions>();
  command.add_option("POSITION", options->position, "The record's position").required();
  command.add_option("--reason", options->reason, "The reason; kept in the log").type_name("TEXT");
  command
      .add_option("--field", options->fields,
                  "Only this field, e.g. goal or failure.message; repeatable")
      .type_name("FIELD")
      .repeatable();
  command
      .add_option("--archive", options->archive,
                  "Erase it in this archive or export instead of in the log")
      .type_name("DIR");
  command
      .add_option("--signing-key", options->signing_keys,
                  "With --archive: the file of the private key that signs it anew; repeatable")
      .type_name("FILE")
      .repeatable();
  command
      .add_option("--key", options->keys,
                  "With --archive: the verifier key that signed it, or @FILE, if that is another "
                  "one; repeatable")
      .type_name("KEY")
      .repeatable();
  command.needs("--signing-key", "--archive");
  command.needs("--key", "--archive");
  command.add_flag("--dry-run", options->dry_run, "Only show what would be erased");
  command.footer(
      "A running server does it while it serves. The record's header and position stay,\n"
      "and every proof and checkpoint still holds; its free texts (goals, reasons,\n"
      "messages, outputs) become \"[redacted]\", and a PayloadRedacted event records who\n"
      "erased what and why.\n\n"
      "A record that a retention kept is erased from the state that the log begins\n"
      "with, too; outside a cell the server must be stopped for that. Archives keep\n"
      "their copy until it is erased there (--archive).\n\n"
      "Names, keys, ids, paths, pipelines and the header (stream, actor, command id;\n"
      "e.g. a lock's key) can't be erased. The header holds the request's digest: a\n"
      "short text can be guessed from it by those who know the rest of the request.\n"
      "Copies below the files (file system snapshots, worn blocks) are out of reach.\n\n"
      "Examples:\n"
      "  signalbox audit redact 42 --reason 'a key in the goal' --dry-run\n"
      "  signalbox audit redact 42 --reason 'a key in the goal' --field goal\n"
      "  signalbox audit redact 42 --archive ./archive/1-99 --signing-key audit.key");
  command.action([options, &invocation] {
    options->data = invocation.data;
    if (!options->archive.empty()) {
      return answer(invocation, run_redact_archive(invocation, *options), view_archive_redaction);
    }
    const auto result = run_redact(invocation, *options);
    const ExitCode code = answer(invocation, result, view_redaction);
    return result && result->contains("files_error") ? ExitCode::io : code;
  });
}

}  // namespace signalbox
