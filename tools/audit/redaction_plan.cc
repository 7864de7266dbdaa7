#include "tools/audit/redaction_plan.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>

#include <boost/describe/enum_from_string.hpp>
#include <boost/json/array.hpp>

#include "domain/try.h"
#include "projections/base_redaction.h"
#include "server/engine/dropped_history.h"
#include "server/platform/service_manager.h"
#include "server/text/separated_text.h"
#include "store/redaction.h"
#include "store/sha256.h"
#include "store/signed_note.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_log.h"
#include "tools/audit/continued_archive.h"
#include "tools/audit/export_directory.h"
#include "tools/cli/elapsed_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr int redaction_number = -32096;  // an error of the client alone, see call_error.cc

// Visits the records after `position` that the log has, and of a commit that was kept all.
Stored<void> scan_present(const RocksEventLog& log, Position position,
                          const EventLog::Visit& visit) {
  const Horizon horizon = log.horizon();
  for (const PositionRange& range : horizon.kept) {
    if (range.last > position) TRY(log.scan(range.first, range.last, visit));
  }
  TRY(log.scan(std::max(position, horizon.position) + 1, log.tail(), visit));
  return {};
}

// Returns the position of the latest event that redacted this record, or 0. A retention that kept
// the record kept that event with it.
Stored<Position> find_redaction(const RocksEventLog& log, Position position) {
  Position found = 0;
  TRY(scan_present(log, position, [&](Record&& record) {
    const auto* event = event_as<PayloadRedacted>(record.event);
    if (event != nullptr && event->redacted_position == position) found = record.position;
    return true;
  }));
  return found;
}

// Returns the keys that the log says were adopted, the latest last, as far as it has that.
std::vector<NoteVerifier> adopted_keys(const RocksEventLog& log) {
  std::vector<NoteVerifier> keys;
  // What can't be read is found by others; here it is a key that isn't known.
  (void)scan_present(log, 0, [&](Record&& record) {
    const auto* event = event_as<AuditKeyAdopted>(record.event);
    if (event == nullptr) return true;
    for (const std::string& text :
         {std::string(event->previous), std::string(event->verifier_key)}) {
      if (auto key = parse_verifier(text)) keys.push_back(*std::move(key));
    }
    return true;
  });
  return keys;
}

// Returns the options that name the keys of a redaction in the archive: the service's own private
// key, and the verifier key that the archive was signed with, if that is another one. A key that
// nothing here has is VERIFIER_KEY.
std::string key_options(const RocksEventLog& log, const std::filesystem::path& archive,
                        const std::filesystem::path& data) {
  std::error_code unknown;
  const std::filesystem::path of_the_service = data / "audit.key";
  const bool is_there = std::filesystem::exists(of_the_service, unknown);
  const std::string file = is_there ? for_the_shell(of_the_service.string()) : "audit.key";
  std::string options = " --signing-key " + file;
  if (!std::filesystem::exists(archive / manifest_name, unknown)) return options;
  const auto has_signed = [&](const NoteVerifier& key) {
    return read_export_notes(archive, std::span(&key, 1)).has_value();
  };
  std::optional<NoteVerifier> own;
  if (is_there) {
    if (const auto signers = read_signers({of_the_service.string()})) {
      own = signers->front().verifier();
    }
  }
  if (own && has_signed(*own)) return options;
  const std::vector<NoteVerifier> keys = adopted_keys(log);
  if (!own && !keys.empty()) own = keys.back();
  if (!own) return options;
  const auto signer = std::find_if(keys.rbegin(), keys.rend(), has_signed);
  if (signer == keys.rend()) return options + " --key VERIFIER_KEY";
  return *signer == *own ? options : options + " --key " + for_the_shell(signer->text());
}

// Returns the command that redacts the record in an archive.
std::string archive_redaction_command(const RocksEventLog& log,
                                      const std::filesystem::path& archive, Position position,
                                      const std::filesystem::path& data) {
  return "signalbox audit redact " + std::to_string(position) + " --archive " +
         for_the_shell(archive.string()) + key_options(log, archive, data);
}

// Makes HISTORY_DROPPED for a record that only an archive has, with the command that redacts it
// there.
CallError only_archived(const RocksEventLog& log, Position position,
                        const std::filesystem::path& data) {
  CallError error = from_rejection(history_dropped(log, position));
  const std::filesystem::path archive = find_archive(log, position);
  if (archive.empty()) return error;
  json::object& told = error.error.at("data").as_object();
  told["details"].as_object()["archive"] = archive.string();
  json::array& next = told["next_commands"].as_array();
  next.insert(next.begin(), json::value(archive_redaction_command(log, archive, position, data)));
  return error;
}

// Makes REDACTION_NEEDS_STOP with the three commands that erase the texts: from the log and its
// base, and from the archive.
CallError needs_stop(const RocksEventLog& log, Position position, const std::filesystem::path& data,
                     const std::string& while_stopped) {
  std::string message = "record " + std::to_string(position) +
                        " stayed when a retention dropped others, so the state that the log "
                        "begins with may have its texts, too; both are erased while the server is "
                        "stopped";
  json::object details{{"position", position}, {"horizon", log.horizon().position}};
  std::vector<std::string> next{stop_command(), while_stopped};
  if (const std::filesystem::path archive = find_archive(log, position); !archive.empty()) {
    message += ". The archive " + archive.string() +
               " has them as well; there they are erased at "
               "any time, with the key that signs archives";
    details["archive"] = archive.string();
    next.push_back(archive_redaction_command(log, archive, position, data));
  }
  return redaction_refused("REDACTION_NEEDS_STOP", std::move(message), std::move(details),
                           std::move(next));
}

// Plans what a record that was kept before the horizon needs besides: another base.
Called<void> plan_base(const RocksEventLog& log, const std::filesystem::path& data,
                       RedactionPlan& plan) {
  if (plan.record.position > log.horizon().position) return {};
  plan.archive = find_archive(log, plan.record.position);
  if (!plan.archive.empty()) {
    plan.archive_command = archive_redaction_command(log, plan.archive, plan.record.position, data);
  }
  if (plan.fields.empty()) return {};
  const auto present = TRY(called(log.base()));
  auto base = redacted_base(log, plan.record, plan.replacement);
  if (!base && base.error().kind == StoreError::Kind::unsupported) {
    return tl::unexpected(redaction_refused(
        "REDACTION_IMPOSSIBLE",
        "record " + std::to_string(plan.record.position) +
            " stayed when others were dropped, and its texts can't be erased from the state that "
            "the log begins with since then: " +
            base.error().message +
            ". Nothing was changed; when what it is of has ended, the next "
            "retention drops both",
        {{"position", plan.record.position}, {"horizon", log.horizon().position}},
        {"signalbox audit retain --help"}));
  }
  if (!base) return tl::unexpected(from_store_error(base.error()));
  if (*base != present) plan.base = *std::move(base);
  return {};
}

Called<void> require_fields(const RedactionPlan& plan, const std::vector<std::string>& there,
                            const std::vector<std::string>& wanted) {
  const std::string name(tag_of(plan.record.event).name);
  const std::string position = std::to_string(plan.record.position);
  if (there.empty()) {
    return tl::unexpected(redaction_refused(
        "NOTHING_TO_REDACT",
        "record " + position + " (" + name +
            ") has no free text: what names and ids are made of, what is executed, and the header "
            "(stream, actor, command id) can't be erased, because later records and the tree need "
            "them",
        {{"position", plan.record.position},
         {"type", name},
         {"stream", to_string(plan.record.stream)},
         {"actor", plan.record.actor},
         {"command_id", plan.record.command_id}}));
  }
  for (const std::string& field : wanted) {
    if (std::find(there.begin(), there.end(), field) != there.end()) continue;
    return tl::unexpected(usage_error("record " + position + " (" + name +
                                          ") has no free text in " + field +
                                          "; it has some in: " + comma_separated(there),
                                      {"signalbox audit redact " + position + " --reason '…' " +
                                       "--field " + there.front() + " --dry-run"}));
  }
  return {};
}

// Plans all but the base and the earlier redaction.
Called<RedactionPlan> plan_record(const RocksEventLog& log, const std::filesystem::path& data,
                                  Position position, const std::vector<std::string>& fields) {
  if (position == 0 || position > log.tail()) {
    return tl::unexpected(position_not_found(position, log.tail()));
  }
  const Horizon horizon = log.horizon();
  if (horizon.first_dropped(position, position)) {
    return tl::unexpected(only_archived(log, position, data));
  }
  RedactionPlan plan;
  bool fits = true;
  const auto scanned = log.scan(position, position, [&](Record&& record) {
    plan.record = std::move(record);
    return true;
  });
  if (!scanned) return tl::unexpected(from_store_error(scanned.error()));
  const std::vector<std::string> there = free_text_fields(plan.record.event);
  TRY(require_fields(plan, there, fields));
  const std::vector<std::string>& wanted = fields.empty() ? there : fields;
  for (FoundText& each : free_texts(plan.record.event)) {
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), each.field) != wanted.end();
    if (!is_wanted || is_blank(each.text)) continue;
    if (std::find(plan.fields.begin(), plan.fields.end(), each.field) == plan.fields.end()) {
      plan.fields.push_back(each.field);
    }
    plan.erased.push_back(std::move(each));
  }
  plan.replacement = without_free_texts(plan.record.event, plan.fields, Blank::telling);
  const auto measured = log.scan_frames(position, position, [&](const Frame& frame) {
    fits = fits_as_replacement(frame, plan.replacement);
    return true;
  });
  if (!measured) return tl::unexpected(from_store_error(measured.error()));
  if (!fits) plan.replacement = without_free_texts(plan.record.event, plan.fields, Blank::shortest);
  return plan;
}

Called<void> find_earlier_redaction(const RocksEventLog& log, RedactionPlan& plan) {
  if (!plan.record.redacted) return {};
  plan.redacted_at = TRY(called(find_redaction(log, plan.record.position)));
  return {};
}

}  // namespace

CallError redaction_refused(const char* code, std::string message, json::object details,
                            std::vector<std::string> next_commands) {
  CallError error;
  error.exit_code = ExitCode::refused;
  ErrorCode known{};
  const bool is_known = boost::describe::enum_from_string(code, known);
  error.error["code"] = is_known ? static_cast<int>(known) : redaction_number;
  error.error["message"] = std::move(message);
  error.error["data"] =
      json::object{{"code", code},
                   {"details", std::move(details)},
                   {"next_commands", json::array(next_commands.begin(), next_commands.end())}};
  return error;
}

Called<RedactionPlan> plan_redaction(const RocksEventLog& log, const std::filesystem::path& data,
                                     Position position, const std::vector<std::string>& fields) {
  auto plan = TRY(plan_record(log, data, position, fields));
  TRY(plan_base(log, data, plan));
  TRY(find_earlier_redaction(log, plan));
  return plan;
}

Called<RedactionPlan> plan_living_redaction(const RocksEventLog& log,
                                            const std::filesystem::path& data, Position position,
                                            const std::vector<std::string>& fields,
                                            const std::string& while_stopped) {
  auto plan = TRY(plan_record(log, data, position, fields));
  const Position horizon = log.horizon().position;
  if (position <= horizon && !plan.fields.empty()) {
    return tl::unexpected(needs_stop(log, position, data, while_stopped));
  }
  TRY(find_earlier_redaction(log, plan));
  return plan;
}

Stored<Record> renewal_note(const RocksEventLog& log, const std::string& base) {
  auto drop = latest_drop(log);
  if (!drop) {
    return store_failure(StoreError::Kind::damaged, "the log's latest HistoryDropped is missing");
  }
  HistoryDropped event = *event_as<HistoryDropped>(drop->event);
  event.base = sha256(base);
  Record note;
  note.position = log.tail() + 1;
  note.stream = Stream::server();
  note.recorded_at_ns = wall_clock_ns();
  note.actor = "uid:" + std::to_string(::getuid());
  note.event = Event(ServerEvent(std::move(event)));
  return note;
}

Record redaction_note(const RedactionPlan& plan, Position position, const std::string& reason) {
  PayloadRedacted event;
  event.redacted_position = plan.record.position;
  event.event = tag_of(plan.record.event).name;
  event.fields = plan.fields;
  event.reason = reason;
  Record note;
  note.position = position;
  note.stream = Stream::access();
  note.recorded_at_ns = wall_clock_ns();
  note.actor = "uid:" + std::to_string(::getuid());
  note.cause = plan.record.position;
  note.event = AccessEvent(std::move(event));
  return note;
}

}  // namespace signalbox
