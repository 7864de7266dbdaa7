// `signalbox audit retain`: parses the options and prints the result of retain().
#include <unistd.h>

#include <memory>

#include "domain/try.h"
#include "server/platform/clock.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_options.h"
#include "tools/audit/retention.h"
#include "tools/cli/call_error.h"
#include "tools/cli/invocation.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RetainOptions {
  std::string older_than;
  std::string archives;
  std::vector<std::string> signing_keys;
  std::string failed_runs = "90d";
  bool dry_run = false;
  bool archive_lost = false;
};

Called<json::object> run_retain(const Invocation& invocation, const RetainOptions& options) {
  const auto signers = TRY(read_signers(options.signing_keys));
  const auto older_than_ms = parse_duration_ms(options.older_than);
  if (!older_than_ms || *older_than_ms < 0) {
    return tl::unexpected(
        usage_error("--older-than: " + options.older_than + " is not an age like 90d or 36h"));
  }
  const auto failed_runs_ms = parse_duration_ms(options.failed_runs);
  if (!failed_runs_ms || *failed_runs_ms < 0) {
    return tl::unexpected(
        usage_error("--failed-runs: " + options.failed_runs + " is not an age like 90d or 36h"));
  }
  if (options.archives.empty() || !is_utf8(options.archives)) {
    return tl::unexpected(usage_error("--archive must name a directory, in UTF-8"));
  }
  RetentionRequest request;
  request.data = invocation.data_directory();
  request.archives = options.archives;
  request.older_than_ms = *older_than_ms;
  request.failed_runs_ms = *failed_runs_ms;
  request.archive_lost = options.archive_lost;
  request.now_ns = SystemClock().wall_ns();
  request.actor = "uid:" + std::to_string(::getuid());
  request.signers = signers;
  request.dry_run = options.dry_run;
  const auto report = TRY(retain(request));
  const RetentionPlan& plan = report.plan;
  json::object result{{"dry_run", options.dry_run},
                      {"dropped", report.dropped_at != 0},
                      {"from", plan.from},
                      {"horizon", plan.horizon},
                      {"records_dropped", plan.records_dropped},
                      {"records_kept", plan.records_kept},
                      {"runs_dropped", plan.runs_dropped},
                      {"runs_kept", plan.runs_kept},
                      {"cards_kept", plan.cards_kept},
                      {"failed_runs_kept", plan.failed_runs_kept},
                      {"base_bytes", plan.drop.base.size()},
                      {"log_bytes_before", report.log_bytes_before},
                      {"log_bytes_after", report.log_bytes_after}};
  if (!report.archive.empty()) result["archive"] = report.archive.string();
  if (report.dropped_at != 0) result["dropped_at"] = report.dropped_at;
  return result;
}

std::string retained_text(const json::object& result, const Terminal& terminal) {
  const bool dry = true_at(result, "dry_run");
  if (text_at(result, "archive").empty()) {
    return "nothing to drop: every older record is archived already or still needed\n";
  }
  std::string text = (dry ? "would archive " : "archived ") + text_at(result, "from") + " to " +
                     text_at(result, "horizon") + " in " + text_at(result, "archive") +
                     (dry ? "\nwould drop " : ", verified\ndropped ") +
                     text_at(result, "records_dropped") + " records, of " +
                     text_at(result, "runs_dropped") + " ended runs and of other streams\n";
  if (text_at(result, "records_kept") != "0") {
    text += std::string(dry ? "would keep " : "kept ") + text_at(result, "records_kept") +
            " records, of " + text_at(result, "runs_kept") + " runs and " +
            text_at(result, "cards_kept") +
            " cards that are open, changed later, can be retried, or are shown by an open card\n";
  }
  text += "the log has " + text_at(result, "log_bytes_before") + " bytes";
  if (!dry) text += ", now " + text_at(result, "log_bytes_after");
  return broken_message(text + "\n", terminal);
}

}  // namespace

void add_audit_retain_command(ToolCommand audit, Invocation& invocation) {
  ToolCommand command =
      audit.add_subcommand("retain", "Move records older than an age from the log into an archive");
  const auto options = std::make_shared<RetainOptions>();
  command.add_option("--older-than", options->older_than, "An age: 90d, 36h")
      .required()
      .type_name("AGE");
  command
      .add_option("--archive", options->archives,
                  "The parent of the archives, each in a directory FROM-TO")
      .required()
      .type_name("DIR");
  command
      .add_option("--failed-runs", options->failed_runs,
                  "The age since its failure up to which a failed run stays, to be retried")
      .type_name("AGE")
      .shows_default();
  add_signing_keys(command, options->signing_keys);
  command.add_flag("--archive-lost", options->archive_lost,
                   "Go on although the archive before is gone or changed");
  command.add_flag("--dry-run", options->dry_run, "Only show what would be done");
  command.footer(
      "The server must be stopped. Records are exported, the export is verified from\n"
      "disk, and only then they are dropped from the log. Records of open runs and\n"
      "cards stay. State, proofs, `audit verify` and `replay` are as before; an archive\n"
      "is an export like any other. Idempotency keys stay used, also those of dropped\n"
      "runs.\n\n"
      "Examples:\n"
      "  signalbox audit retain --older-than 90d --archive /var/archive \\\n"
      "    --signing-key audit.key --dry-run\n"
      "  signalbox audit retain --older-than 90d --archive /var/archive \\\n"
      "    --signing-key audit.key");
  command.action([options, &invocation] {
    return answer(invocation, run_retain(invocation, *options), retained_text);
  });
}

}  // namespace signalbox
